shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8:16:8 --forbid cp,recompute --pareto
