# What frameworks keep for each parameter.
shardplan catalog frameworks
