shardplan plan --model llama3-8b --gpu h100-sxm --gpus 16 --max tpp=4
