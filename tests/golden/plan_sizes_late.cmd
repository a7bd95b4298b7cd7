shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 1:32 --objective cost --price 2 --tokens 15T --deadline 30d --forbid cp
