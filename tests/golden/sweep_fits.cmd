# Every item has a plan: status 0.
shardplan sweep tests/data/sweep/fits.json --format csv --threads 1
