# Which of several precisions was chosen.
shardplan sweep tests/data/sweep/precision.json --format csv
