shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 64 --global-batch 512 --micro-batch 3
