shardplan plan --model llama3-8b --gpu h100-sxm --gpus 24 --pp 3 --schedule dualpipe
