# Not a time.
shardplan plan --preset llama3-8b --gpu H100 --gpus 8 --data-loading soon
