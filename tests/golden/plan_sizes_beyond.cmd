shardplan plan --preset llama3-8b --cluster examples/cluster-3-tier.json --gpus 8:1024:8
