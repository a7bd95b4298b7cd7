shardplan compare ep8.pp2.z1 ep4.pp4.z1 --preset qwen3-30b-a3b --gpu h100-sxm --gpus 32 --framework megatron --global-batch 256 --json
