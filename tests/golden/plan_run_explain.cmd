shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 8 --fix tp=1,pp=1,cp=1,micro-batch=1 --tokens 1T --price 2.5 --deadline 365d --explain
