shardplan plan --model llama3-8b --gpu h100-sxm --gpus 16 --min tp=16,pp=2
