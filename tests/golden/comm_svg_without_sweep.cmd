# One size is no curve.
shardplan comm --gpu H100 --gpus 8 --bytes 1MiB --svg curve.svg
