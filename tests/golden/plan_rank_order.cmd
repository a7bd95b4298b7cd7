shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --seq 8192 --global-batch 64 --framework megatron --tp 2 --pp 2 --rank-order tp-cp-ep-pp-dp
