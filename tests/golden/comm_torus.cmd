# A cube of TPUs: rings along the three axes of its torus.
shardplan comm --gpu tpu-v5p --gpus 64 --bytes 1GiB
