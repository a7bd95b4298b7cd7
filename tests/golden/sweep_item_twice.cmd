shardplan sweep tests/data/sweep/item_twice.json
