shardplan sweep tests/data/sweep/list.json
