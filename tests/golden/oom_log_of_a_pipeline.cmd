# A log whose lines are broken; several stages hold such a tensor.
shardplan oom tests/data/oom/traceback.log --preset llama3-70b --gpu h100-sxm --gpus 32 --tp 4 --pp 4 --interleave 5 --dp 2 --zero 1 --framework megatron --global-batch 32
