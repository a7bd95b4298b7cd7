shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 8 --precision bf16,fp8
