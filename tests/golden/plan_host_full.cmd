shardplan plan --preset llama2-13b --gpu a100-80gb-sxm --gpus 8 --framework deepspeed --offload optimizer --recompute full --host-memory 100 --tp 1
