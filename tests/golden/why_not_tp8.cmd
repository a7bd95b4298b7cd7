shardplan why-not tp8 --preset llama3-70b --gpu h100-sxm --gpus 64 --framework megatron --global-batch 128
