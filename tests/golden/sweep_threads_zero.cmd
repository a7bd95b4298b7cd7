# No thread.
shardplan sweep tests/data/sweep/fits.json --threads 0
