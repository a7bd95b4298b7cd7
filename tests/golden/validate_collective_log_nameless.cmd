# A log of two nodes does not name its network.
shardplan validate --kind collective tests/data/nccl/h100_two_nodes.log
