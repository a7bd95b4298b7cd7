shardplan plan --model llama3-70b --gpu h100-sxm --gpus 64 --tp 64 --pp 2
