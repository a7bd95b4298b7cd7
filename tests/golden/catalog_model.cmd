# A model.
shardplan catalog models llama3-8b
