# 32 KiB is all latency, and no window was given.
shardplan comm --gpus 8 --bw 300 --latency 5 --bytes 32768
