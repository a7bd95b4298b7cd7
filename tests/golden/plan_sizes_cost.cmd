shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 4:64:4 --objective cost --tokens 1T --price 2.5 --watts 700
