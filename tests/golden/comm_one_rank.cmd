# One rank has nothing to send.
shardplan comm --gpus 1 --bw 50 --latency 15 --bytes 1GB
