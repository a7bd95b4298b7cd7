shardplan plan --preset llama3-70b --cluster examples/cluster-3-tier.json --seq 8192 --global-batch 1024
