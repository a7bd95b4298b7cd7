# Products in mxfp8 keep two scaled copies of each weight, and inputs in one.
shardplan memory --preset llama3-8b --gpu b200 --gpus 1 --framework megatron --precision mxfp8 --activations ops
