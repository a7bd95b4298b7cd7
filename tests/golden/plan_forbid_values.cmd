shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --precision bf16,fp8 --forbid precision=fp8,schedule=interleaved,cp,recompute
