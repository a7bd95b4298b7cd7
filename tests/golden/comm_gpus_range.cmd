shardplan comm --gpu h100-sxm --gpus 8:64 --bytes 1MiB
