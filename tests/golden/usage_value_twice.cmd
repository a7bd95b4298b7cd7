shardplan plan --preset llama3-8b --gpu h100-sxm --tp 2 --tp 4
