# What a whole run takes, on the best of several sizes: in time, late, within a budget, wrong.
shardplan sweep tests/data/sweep/run.json --format csv
