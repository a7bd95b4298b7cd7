# A plan, no plan, an error: a row each, and status 1.
shardplan sweep tests/data/sweep/three.json
