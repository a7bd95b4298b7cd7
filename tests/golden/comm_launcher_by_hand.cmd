# Links by hand have no library.
shardplan comm --gpus 8 --bw 300 --bytes 64KiB --launcher torch
