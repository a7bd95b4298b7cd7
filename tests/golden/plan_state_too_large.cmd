shardplan plan --preset llama3-405b --gpu h100-sxm --gpus 64
