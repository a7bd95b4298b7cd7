shardplan serve --preset llama3-8b --gpu h100-sxm --tp 1 --seq 8192 --batch 64
