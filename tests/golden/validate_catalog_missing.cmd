# Another catalog that is not there.
shardplan validate --kind training-time --catalog validation validation/training_time.csv
