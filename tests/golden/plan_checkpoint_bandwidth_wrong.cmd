# Beyond any storage.
shardplan plan --preset llama3-8b --gpu H100 --gpus 64 --checkpoint-bandwidth 5e9
