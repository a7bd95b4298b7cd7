# A network of the catalog, by an alias.
shardplan comm --fabric NDR --gpus 16 --bytes 1GiB
