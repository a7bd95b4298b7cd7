# Errors may only shrink: the bar is what they are. Lower it when they do.
shardplan validate --kind training-memory validation/training_memory.csv --leave-out bigscience-a100 --leave-out torchtitan --leave-out megatron-sc21-t2 --bar median=0.0095,p90=0.0343
