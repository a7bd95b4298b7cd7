shardplan compare tp4.tq2 tp4 --preset llama3-8b --gpu h100-sxm --gpus 16
