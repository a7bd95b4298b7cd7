shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 64 --price 2.5 --budget 100
