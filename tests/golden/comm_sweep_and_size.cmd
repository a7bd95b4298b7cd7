# A sweep and a size.
shardplan comm --gpu H100 --gpus 8 --sweep 8B:1GB --bytes 1MiB
