# What NCCL picks on two nodes, and by how much the others lose.
shardplan comm --gpu H100 --gpus 16 --bytes 64MiB
