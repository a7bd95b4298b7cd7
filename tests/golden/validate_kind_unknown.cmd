# A kind that there is not.
shardplan validate --kind training-mem validation/training_memory.csv
