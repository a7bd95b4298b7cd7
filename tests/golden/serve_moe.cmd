shardplan serve --preset mixtral-8x7b --tp 2
