shardplan plan --preset llama3-8b --gpu h100 --gpus 8 --framework megatron --global-batch 64 --data-loading 6s
