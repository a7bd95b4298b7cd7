# A sweep over a link by hand.
shardplan comm --gpus 8 --bw 50 --latency 10 --sweep 1KiB:1GiB
