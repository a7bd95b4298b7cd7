# Groups of a plan over the torus of a slice.
shardplan plan --model llama3-70b --gpu tpu-v5p --gpus 64 --global-batch 128 --seq 8192 --tp 4 --pp 1 --zero 3 --micro-batch 1
