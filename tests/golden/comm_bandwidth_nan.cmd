# A bandwidth that is no number.
shardplan comm --gpus 64 --bw nan --bytes 1MiB
