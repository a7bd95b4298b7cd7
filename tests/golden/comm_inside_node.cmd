shardplan comm --gpus 8 --bw 300 --latency 5 --params 7 --step-ms 700
