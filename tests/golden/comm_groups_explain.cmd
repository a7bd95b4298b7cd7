# What a shared card leaves, formula by formula, of links by hand.
shardplan comm --gpus 4 --gpus-per-node 8 --ranks-per-node 2 --bw-intra 300 --bw-inter 50 --latency-intra 5 --latency-inter 15 --groups 4 --bytes 1GiB --explain
