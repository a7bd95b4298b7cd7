shardplan plan --preset llama3-8b --gpu h100-sxm --budget 100
