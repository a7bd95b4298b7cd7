shardplan serve --preset llama3-70b --gpu h100-sxm --gpus 8 --seq 8192 --batch 16 --tpot-ms 20
