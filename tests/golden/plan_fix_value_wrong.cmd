# The error names the flag that was written.
shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --fix tp=0
