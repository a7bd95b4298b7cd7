shardplan plan --preset llama3-8b --gpu h100-sxm --price 2.5 --budget 50 --forbid cp
