# What the sweep came to, as JSON; the rows are in a file.
shardplan sweep tests/data/sweep/three.json --out /tmp/shardplan_golden_sweep.jsonl --overwrite --json
