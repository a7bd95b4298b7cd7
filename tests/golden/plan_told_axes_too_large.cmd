shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 64 --framework megatron --tp 1 --pp 1 --cp 1 --recompute none
