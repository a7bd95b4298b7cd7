shardplan memory --preset llama3-8b --gpu h100 --gpus 8 --framework megatron --zero 2 --micro-batch 2
