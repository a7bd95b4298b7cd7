shardplan comm --gpus 8 --bw=-5 --latency 5 --bytes 32768
