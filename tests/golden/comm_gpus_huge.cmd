# More ranks than there are.
shardplan comm --gpus 1e30 --bw 50 --bytes 1MiB
