# A bar that is missed is a no.
shardplan validate --kind training-memory validation/training_memory.csv --leave-out megatron-golden --bar median=0.001
