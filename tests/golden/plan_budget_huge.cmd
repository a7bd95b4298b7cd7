shardplan plan --preset llama3-8b --gpu h100-sxm --budget 900000000 --price 0.0001
