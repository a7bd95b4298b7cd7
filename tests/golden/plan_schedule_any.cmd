# All schedules, with a note on those that the framework does not run.
shardplan plan --preset llama3-70b --gpu h100-sxm --gpus 64 --framework megatron --global-batch 128 --schedule any --forbid cp,recompute
