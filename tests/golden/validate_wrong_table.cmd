# A CSV file that is another table.
shardplan validate --kind training-memory tests/golden/validate_memory.cmd
