# What a framework cannot do is said, and what it can.
shardplan memory --preset llama3-8b --framework megatron --offload params
