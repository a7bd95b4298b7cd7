# A GPU on a network that is not its usual one.
shardplan comm --gpu H100 --gpus 16 --fabric EFA --bytes 1MiB
