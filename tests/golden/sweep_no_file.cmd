# No such grid.
shardplan sweep no/such/grid.json
