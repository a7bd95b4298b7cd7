# A value that would be worked out twice.
shardplan sweep tests/data/sweep/value_twice.json
