# A range that ends before it starts.
shardplan comm --gpu H100 --gpus 8 --sweep 16GB:8B
