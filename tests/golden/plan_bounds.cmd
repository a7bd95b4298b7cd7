shardplan plan --model llama3-8b --gpu h100-sxm --gpus 16 --min pp=2 --max tp=4,micro-batch=2 --forbid cp
