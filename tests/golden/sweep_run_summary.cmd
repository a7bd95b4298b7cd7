# A late item is counted and is no success.
shardplan sweep tests/data/sweep/run.json --out /tmp/shardplan_golden_sweep_run.jsonl --overwrite
