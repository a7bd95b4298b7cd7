# A range of sizes, with the points where another way takes over.
shardplan comm --cluster dgx-h100 --gpus 32 --sweep 8B:16GB
