shardplan serve --preset gpt-oss-120b --gpu h100-sxm --gpus 1 --seq 8192
