shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 1:48 --objective gpus --tokens 1T --deadline 60d --max tp=8,pp=4 --forbid cp --json
