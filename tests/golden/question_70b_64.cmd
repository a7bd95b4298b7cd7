shardplan plan --model examples/llama-3.1-70b/config.json --gpu h100-sxm --gpus 64 --seq 8192 --global-batch 512
