# Two slices of a told shape, joined by the data-centre network, as JSON.
shardplan comm --gpu tpu-v5e --gpus 64 --topology 4x8 --collective all-gather --bytes 256MiB --json
