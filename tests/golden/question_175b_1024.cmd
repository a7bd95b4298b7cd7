shardplan plan --preset gpt3-175b --gpu a100-80gb-sxm --gpus 1024 --seq 2048 --global-batch 1536 --framework megatron
