# No release of that name.
shardplan catalog timings megatron-lm-2023
