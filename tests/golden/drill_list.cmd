shardplan drill list
