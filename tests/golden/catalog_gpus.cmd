# The figures of all GPUs.
shardplan catalog gpus
