# A table has a column for the network.
shardplan validate --kind collective --fabric ib-ndr-400 validation/collective.csv
