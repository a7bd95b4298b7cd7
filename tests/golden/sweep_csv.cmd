# The same as CSV.
shardplan sweep tests/data/sweep/three.json --format csv
