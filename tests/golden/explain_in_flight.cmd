shardplan explain pipeline.in_flight
