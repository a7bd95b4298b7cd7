# The output of nccl-tests, read as it is printed.
shardplan validate --kind collective --fabric ib-ndr-400 tests/data/nccl/h100_two_nodes.log
