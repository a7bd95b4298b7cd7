# The same as JSON, over a short range.
shardplan comm --gpu H100 --gpus 8 --sweep 1MiB:8MiB --json
