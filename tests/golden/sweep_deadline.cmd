# A plan that misses its deadline: in_time is false, status 1.
shardplan sweep tests/data/sweep/late.json
