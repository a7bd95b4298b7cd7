shardplan why-not pp1.tp1.z1 --preset llama3-70b --gpu h100-sxm --gpus 64 --framework megatron
