# An all-to-all over a mesh without rings, formula by formula.
shardplan comm --gpu tpu-v5e --gpus 32 --collective all-to-all --bytes 64MiB --explain
