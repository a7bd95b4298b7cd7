# More groups than the GPUs of a node are for.
shardplan comm --gpu h100 --gpus 16 --groups 2 --bytes 1GiB
