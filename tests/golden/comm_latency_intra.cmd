# The hops of a library's tables are longer by as much.
shardplan comm --gpu h100-sxm --gpus 8 --bytes 1KiB --latency-intra 2
