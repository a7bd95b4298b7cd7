shardplan memory --preset llama3-8b --gpus 1 --recompute selective --explain
