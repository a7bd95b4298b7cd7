shardplan serve --params 175 --layers 96 --hidden 12288 --heads 96 --seq 2048 --gpus 64 --tp 4 --batch 8 --tpot-ms 25
