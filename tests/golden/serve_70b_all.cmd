shardplan serve --preset llama3-70b --gpu h100-sxm --seq 8192 --batch 64 --tpot-ms 40
