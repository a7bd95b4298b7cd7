# A flag without its value.
shardplan comm --gpus
