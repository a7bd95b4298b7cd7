shardplan serve --preset llama3-8b --tp 3
