# Errors may only shrink: the bar is what they are. Lower it when they do.
shardplan validate --kind training-memory validation/training_memory.csv --bar median=0.0096,p90=0.0352
