shardplan serve --preset llama3-8b --batch 0
