shardplan serve --preset llama3-8b --gpu h100-sxm --rate 5
