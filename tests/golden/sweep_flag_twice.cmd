# A flag that cases and a key of their own tell.
shardplan sweep tests/data/sweep/flag_twice.json
