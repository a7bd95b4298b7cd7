shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --min zero=2 --max zero=2,shard-group=8 --forbid cp
