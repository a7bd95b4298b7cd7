# A memory that the reserve eats up.
shardplan memory --preset llama3-8b --hbm 1
