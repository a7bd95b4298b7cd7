# Full precision is not modelled, and said so.
shardplan memory --preset llama3-8b --precision fp32
