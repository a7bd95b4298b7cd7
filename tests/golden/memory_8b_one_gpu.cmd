shardplan memory --preset llama3-8b --gpus 1 --seq 4096 --recompute selective
