# Error bands as the catalog holds them.
shardplan validate --kind training-memory --bands validation/training_memory.csv
