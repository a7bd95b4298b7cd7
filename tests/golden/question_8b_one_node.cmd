shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8 --seq 8192 --global-batch 512
