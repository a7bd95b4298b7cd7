# All-to-all over two nodes, as send and receive.
shardplan comm --gpu mi355x --gpus 16 --fabric pollara-400 --collective all-to-all --bytes 128MiB
