shardplan serve --preset deepseek-v3 --gpu h200 --gpus 64 --input 4000 --output 1000 --tpot-ms 50 --rate 12
