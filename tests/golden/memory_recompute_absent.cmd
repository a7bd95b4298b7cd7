# A dense model has no expert activation.
shardplan memory --preset llama3-8b --recompute moe_act
