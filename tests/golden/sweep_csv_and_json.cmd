# CSV on standard output is no JSON.
shardplan sweep tests/data/sweep/fits.json --format csv --json
