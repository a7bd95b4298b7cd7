# A generation without scales of blocks is told so.
shardplan memory --preset llama3-8b --gpu h100-sxm --gpus 8 --precision mxfp8
