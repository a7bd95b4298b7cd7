shardplan compare tp2.zero2.mb1 tp4.zero3 --preset llama3-70b --gpu h100-sxm --gpus 64 --framework fsdp --recompute full
