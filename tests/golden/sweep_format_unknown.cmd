# An ending that names no format.
shardplan sweep tests/data/sweep/fits.json --out rows.jsn
