# Collectives have no bands.
shardplan validate --kind collective --bands validation/collective.csv
