shardplan why-not ep8 --preset qwen3-30b-a3b --gpu h100-sxm --gpus 32 --framework megatron
