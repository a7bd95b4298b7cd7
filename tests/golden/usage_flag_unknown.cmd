# A misspelt flag.
shardplan comm --gpus 8 --lateny 5
