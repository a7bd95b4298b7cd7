# Over either peak: fp8 products have two.
shardplan plan --model llama3-8b --gpu h100-sxm --gpus 8 --framework megatron --precision fp8 --recompute full --global-batch 64
