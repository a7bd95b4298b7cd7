shardplan memory --preset llama3-8b --gpu h100-sxm --pp 4 --first-layers 7 --last-layers 7 --framework megatron --json
