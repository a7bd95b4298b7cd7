shardplan drill solve 1
