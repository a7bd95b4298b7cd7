# A file that cannot be written is told before the search.
shardplan plan --params 8 --layers 32 --hidden 4096 --heads 32 --seq 2048 --gpus 8 --pareto no/such/folder/front.csv
