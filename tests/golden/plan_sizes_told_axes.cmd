shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 1:7 --tp 8
