shardplan serve --preset llama3-8b --gpu h100-sxm --gpus 8 --tp 3
