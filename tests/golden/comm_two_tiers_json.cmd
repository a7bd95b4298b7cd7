# Both ways and their tiers as JSON.
shardplan comm --gpus 64 --gpus-per-node 8 --bw-intra 300 --bw-inter 50 --latency-intra 5 --latency-inter 15 --params 8.03 --step-ms 700 --json
