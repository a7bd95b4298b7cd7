shardplan memory --preset llama3-8b --gpuss 1
