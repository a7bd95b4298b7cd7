# The same as text.
shardplan sweep tests/data/sweep/three.json --out /tmp/shardplan_golden_sweep.csv --overwrite
