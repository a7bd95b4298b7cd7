shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 16 --framework fsdp --min zero=1 --max zero=1
