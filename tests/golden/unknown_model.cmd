shardplan memory --preset llama3-7b
