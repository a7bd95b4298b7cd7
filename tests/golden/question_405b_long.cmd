shardplan plan --preset llama3-405b --gpu h100-sxm --gpus 8192 --seq 131072 --global-batch 128
