shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8:64:8 --objective gpus --tokens 1T
