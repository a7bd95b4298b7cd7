# Fragmentation, but the account is larger than the device too: joining the pieces would not be enough.
shardplan oom tests/data/oom/fragmented_and_too_large.log --preset llama3-8b --gpu a100-80gb-sxm --gpus 8 --framework fsdp --micro-batch 4
