shardplan plan --preset llama3-70b --gpu a100-40gb-sxm --gpus 32 --seq 4096 --global-batch 256 --framework megatron
