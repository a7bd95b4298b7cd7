# The clusters.
shardplan catalog clusters
