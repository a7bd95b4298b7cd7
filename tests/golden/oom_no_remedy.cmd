# More than the whole run holds.
shardplan oom "Tried to allocate 60.00 GiB (GPU 0; 31.75 GiB total capacity; 0 bytes already allocated; 31.00 GiB free; 0 bytes reserved in total by PyTorch)" --params 0.774 --layers 36 --hidden 1280 --heads 20 --vocab 50304 --seq 1024 --micro-batch 4 --gpu v100-32gb
