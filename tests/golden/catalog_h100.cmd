shardplan catalog gpus h100-sxm
