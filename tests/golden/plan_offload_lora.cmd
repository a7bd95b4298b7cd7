# Host memory and adapters in a search: what is told holds for every plan of it.
shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 8 --framework fsdp --lora 16 --global-batch 32 --offload activations
