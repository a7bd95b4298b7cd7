shardplan drill show 1 --template
