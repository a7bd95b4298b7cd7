shardplan plan --preset qwen3-30b-a3b --gpu h100-sxm --gpus 16 --global-batch 64 --tp 2 --pp 2 --cp 1 --ep 8 --rank-order tp-cp-pp-dp
