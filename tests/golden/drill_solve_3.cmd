shardplan drill solve 3
