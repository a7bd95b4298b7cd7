shardplan plan --preset qwen3-235b-a22b --gpu h200 --gpus 256 --seq 4096 --global-batch 1024 --framework megatron
