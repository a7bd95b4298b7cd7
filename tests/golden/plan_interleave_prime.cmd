# Chunks that no number of stages divides evenly.
shardplan plan --preset deepseek-v3 --gpu h100 --gpus 256 --interleave 2
