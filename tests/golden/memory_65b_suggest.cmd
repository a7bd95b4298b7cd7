shardplan memory --params 65 --layers 80 --hidden 8192 --heads 64 --seq 4096 --gpus 16 --suggest --top 4
