# Errors may only shrink: the bar is what they are. Lower it when they do.
shardplan validate --kind training-time validation/training_time.csv --bar median=0.039,p90=0.129
