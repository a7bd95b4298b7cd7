# A kernel's own time, which opens kernels that read their peers.
shardplan comm --gpu H100 --gpus 8 --bytes 64KiB --launcher device-kernel
