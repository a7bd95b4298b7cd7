# One layout has one schedule.
shardplan memory --preset llama3-8b --gpus 8 --pp 4 --schedule any
