# What leaves the device is on the host, for each GPU and for its node.
shardplan memory --preset llama2-70b --gpu a100-80gb-sxm --gpus 8 --framework deepspeed --activations ops --recompute full --offload optimizer,params,activations --json
