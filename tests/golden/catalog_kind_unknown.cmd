# A misspelt section.
shardplan catalog fabric
