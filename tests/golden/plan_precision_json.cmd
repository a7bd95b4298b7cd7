shardplan plan --preset llama3-8b --gpu b200 --gpus 8 --framework torchtitan --precision fp8,fp16,bf16 --global-batch 64 --forbid cp --json
