# No ranks.
shardplan comm --gpus 0 --bw 50 --bytes 1MiB
