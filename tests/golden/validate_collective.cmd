# Errors may only shrink: the bar is what they are, one vote a series. Lower it when they do.
shardplan validate --kind collective validation/collective.csv --bar median=0.085
