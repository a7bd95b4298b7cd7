shardplan serve --preset llama3-8b --zero 3
