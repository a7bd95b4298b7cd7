# GPUs are joined to no torus.
shardplan comm --gpu h100 --gpus 64 --topology 4x4x4 --bytes 1GiB
