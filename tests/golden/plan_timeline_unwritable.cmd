# A folder that is not there.
shardplan plan --preset llama3-8b --gpus 8 --timeline no/such/folder/step.svg
