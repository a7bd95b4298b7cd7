# Two GPUs of a mesh share one link of seven.
shardplan comm --gpu mi300x --gpus 2 --bytes 4GiB
