# Embedding, head and loss are all on rank 0.
shardplan memory --preset llama3-8b --gpus 8 --pp 8 --schedule zb-v --activations ops
