# Every formula behind a reduction in the switch.
shardplan comm --gpu h200 --gpus 8 --bytes 64MiB --explain
