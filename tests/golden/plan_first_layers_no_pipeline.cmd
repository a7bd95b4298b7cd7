shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --first-layers 3 --pp 1
