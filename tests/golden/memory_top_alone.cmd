# How many to list implies the list.
shardplan memory --preset llama3-8b --gpus 8 --top 2
