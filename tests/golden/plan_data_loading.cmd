# A loader that does not keep up.
shardplan plan --preset llama3-8b --gpu H100 --gpus 8 --tp 1 --pp 1 --dp 8 --cp 1 --zero 1 --micro-batch 1 --global-batch 8 --seq 8192 --recompute full --data-loading 4
