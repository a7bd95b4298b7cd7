# Eight groups of one rank a node on four network cards: half of a card each.
shardplan comm --gpu a100-80gb-sxm --fabric opa-100x4 --gpus 8 --ranks-per-node 1 --groups 8 --bytes 1GiB
