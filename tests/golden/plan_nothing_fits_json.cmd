shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 8 --price 2 --json
