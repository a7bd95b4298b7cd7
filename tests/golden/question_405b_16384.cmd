shardplan plan --preset llama3-405b --gpu h100-sxm --gpus 16384 --seq 8192 --global-batch 2048
