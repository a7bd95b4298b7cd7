shardplan why-not ep4 --preset llama3-8b --gpu h100-sxm --gpus 16 --json
