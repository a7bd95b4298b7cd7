# Every formula in one table.
shardplan formulas
