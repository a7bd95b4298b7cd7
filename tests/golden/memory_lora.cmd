# Adapters on a frozen base in 4 bits: no gradient and no optimizer state but theirs.
shardplan memory --preset llama3-8b --gpu rtx-4090 --gpus 1 --framework fsdp --lora 16:q_proj,v_proj --quantized-base nf4-dq --recompute full
