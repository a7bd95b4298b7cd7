shardplan drill solve x
