shardplan memory --preset llama3-8b --gpus 8 --seq 131072 --suggest --top 4
