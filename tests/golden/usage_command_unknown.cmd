# A misspelt command.
shardplan comn --gpus 8
