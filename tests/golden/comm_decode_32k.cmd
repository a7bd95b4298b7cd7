shardplan comm --gpus 8 --bw 300 --latency 5 --bytes 32768
