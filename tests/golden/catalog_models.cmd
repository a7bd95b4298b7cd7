# All models.
shardplan catalog models
