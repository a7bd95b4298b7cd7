# A flat ring waits for the slower link inside its nodes.
shardplan comm --gpus 64 --gpus-per-node 8 --bw-intra 10 --bw-inter 1000 --latency-intra 1 --latency-inter 6 --params 70 --step-ms 1000
