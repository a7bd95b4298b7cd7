# A misspelt id.
shardplan explain comm.expsoed
