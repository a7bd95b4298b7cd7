# Two ranks, a bandwidth in bits.
shardplan comm --collective send-recv --bw 400Gbit/s --latency 15 --bytes 64MiB
