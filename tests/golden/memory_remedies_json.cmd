shardplan memory --preset llama3-8b --gpu a100-80gb-sxm --gpus 8 --framework deepspeed --zero 1 --micro-batch 2 --json
