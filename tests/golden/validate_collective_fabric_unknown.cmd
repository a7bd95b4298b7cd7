# The network of a log, by a name that nobody knows.
shardplan validate --kind collective --fabric ib-ndr-4000 tests/data/nccl/h100_two_nodes.log
