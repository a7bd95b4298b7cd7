# The gradients of 7 B parameters over 64 ranks do not hide behind a 700 ms step.
shardplan comm --gpus 64 --bw 50 --latency 15 --params 7 --step-ms 700
