shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --global-batch 1 --dp 2
