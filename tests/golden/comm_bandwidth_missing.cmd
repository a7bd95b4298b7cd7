# Nothing says how fast the links are.
shardplan comm --gpus 64 --bytes 1MiB
