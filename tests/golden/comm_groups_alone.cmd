# The same group alone has a card of its own; as JSON.
shardplan comm --gpu a100-80gb-sxm --fabric opa-100x4 --gpus 8 --ranks-per-node 1 --groups 1 --bytes 1GiB --json
