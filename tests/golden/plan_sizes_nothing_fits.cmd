shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 1:4
