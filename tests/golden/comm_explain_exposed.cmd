# Every formula behind an exposed gradient reduction, with its numbers.
shardplan comm --gpus 64 --bw 50 --latency 15 --params 7 --step-ms 700 --explain
