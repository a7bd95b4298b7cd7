shardplan drill solve 2
