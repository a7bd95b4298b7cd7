# The networks.
shardplan catalog fabrics
