# A list may be told in parts.
shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --framework megatron --fix pp=4 --fix first-layers=7 --forbid cp --forbid recompute,rank-order --max tp=1 --min micro-batch=1
