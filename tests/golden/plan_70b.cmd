shardplan plan --model examples/llama-3.1-70b/config.json --gpu h100-sxm --gpus 64
