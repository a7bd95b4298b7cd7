# Named modules need the op-by-op account, and the JSON spells them as the flag does.
shardplan memory --preset deepseek-v3 --gpu h100-sxm --gpus 512 --pp 16 --ep 32 --recompute layernorm,mla_up_proj,mlp,moe_act --json
