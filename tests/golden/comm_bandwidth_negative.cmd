# A bandwidth that cannot be.
shardplan comm --gpus 64 --bw -5 --bytes 1MiB
