shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8 --seq 2097152 --global-batch 8
