shardplan serve --preset llama3-8b --gpu h100-sxm --dp-attention 2
