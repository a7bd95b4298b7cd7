# Told, not searched: the backward pass is split, and the bubble shrinks.
shardplan plan --model llama3-70b --gpu h100-sxm --gpus 64 --schedule zb-h1
