# 50,257 rows: 785.27 MiB, which the allocator asks for as 786.
shardplan oom "RuntimeError: CUDA out of memory. Tried to allocate 786.00 MiB (GPU 0; 14.73 GiB total capacity; 13.33 GiB already allocated; 575.88 MiB free; 13.38 GiB reserved in total by PyTorch)" --params 0.124 --layers 12 --hidden 768 --heads 12 --vocab 50257 --seq 1024 --micro-batch 4 --gpu v100-16gb --json
