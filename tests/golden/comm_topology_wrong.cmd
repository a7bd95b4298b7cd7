# A shape of other chips than the slice has.
shardplan comm --gpu tpu-v5p --gpus 64 --gpus-per-node 64 --topology 4x4x8 --bytes 1GiB
