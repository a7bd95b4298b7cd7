# Not a time.
shardplan plan --preset llama3-8b --gpu H100 --gpus 64 --mtbf-gpu-hours never
