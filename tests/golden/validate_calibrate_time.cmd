# Training times are not calibrated.
shardplan validate --kind training-time --calibrate validation/training_time.csv
