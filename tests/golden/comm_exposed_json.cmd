# All that is printed, as JSON.
shardplan comm --gpus 64 --bw 50 --latency 15 --params 7 --step-ms 700 --json
