shardplan catalog clusters
