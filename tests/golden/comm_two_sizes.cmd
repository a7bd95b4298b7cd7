# Two answers to one question.
shardplan comm --gpus 64 --bw 50 --bytes 1MiB --params 7
