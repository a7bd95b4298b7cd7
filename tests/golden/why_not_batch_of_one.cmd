shardplan why-not dp2 --preset llama3-8b --gpu h100-sxm --gpus 16 --global-batch 1
