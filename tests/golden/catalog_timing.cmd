# The constants of one release, with sources and uncertainty.
shardplan catalog timings megatron-lm-2022
