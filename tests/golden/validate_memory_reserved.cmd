# Errors may only shrink: the bar is what they are. Lower it when they do.
shardplan validate --kind training-memory validation/training_memory.csv --leave-out megatron-golden --leave-out simumax-b200 --bar median=0.0519,p90=0.1129
