shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8:32:8 --framework megatron --precision bf16,fp8 --objective cost --price 2 --forbid cp
