shardplan compare tp3.pp8 tp4 --preset llama3-8b --gpu h100-sxm --gpus 24
