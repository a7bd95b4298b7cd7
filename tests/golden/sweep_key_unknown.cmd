# A key that is no flag, and no case either: nothing is worked out.
shardplan sweep tests/data/sweep/key_unknown.json
