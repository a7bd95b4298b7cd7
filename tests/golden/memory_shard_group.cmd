# Sharded in the node, replicated over the nodes.
shardplan memory --preset llama3-8b --gpu h100-sxm --gpus 32 --framework torchtitan --activations ops --shard-group 8
