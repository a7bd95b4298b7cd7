# Each precision is a question of its own; those that the device has not are listed with the reason.
shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8 --framework megatron --precision any --global-batch 64
