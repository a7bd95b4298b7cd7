# A folder that is not there.
shardplan sweep tests/data/sweep/fits.json --out no/such/folder/rows.csv
