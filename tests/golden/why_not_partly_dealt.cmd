shardplan why-not tp4.ga8 --preset llama3-8b --gpu h100-sxm --gpus 16
