shardplan memory --preset llama3-8b --gpu h100-sxm --pp 2 --first-layers 10 --last-layers 10
