# A misspelt GPU.
shardplan catalog gpus h1000
