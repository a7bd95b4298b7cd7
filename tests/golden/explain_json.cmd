# The same as JSON.
shardplan explain comm.exposed --json
