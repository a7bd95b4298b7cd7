# The same, each series calibrated on every other of its points.
shardplan validate --kind collective --calibrate validation/collective.csv --bar median=0.036
