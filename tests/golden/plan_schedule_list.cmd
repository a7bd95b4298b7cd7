shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --framework torchtitan --schedule 1f1b,zb-v --min pp=2 --forbid cp
