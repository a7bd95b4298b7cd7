shardplan plan --preset llama3-405b --gpu h100-sxm --gpus 64 --seq 8192 --global-batch 1024
