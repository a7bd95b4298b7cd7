shardplan serve --params 7 --layers 32 --hidden 4096 --heads 32 --export
