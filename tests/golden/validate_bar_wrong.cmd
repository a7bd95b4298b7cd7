# A bar that is none.
shardplan validate --kind training-memory validation/training_memory.csv --bar mean=3
