# One GPU by an alias, each number with its source.
shardplan catalog gpus H100
