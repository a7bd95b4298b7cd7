shardplan plan --preset llama3-8b --gpu l40s --gpus 4 --seq 4096 --global-batch 32 --lora 16
