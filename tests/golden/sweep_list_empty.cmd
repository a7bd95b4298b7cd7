# An axis without values.
shardplan sweep tests/data/sweep/list_empty.json
