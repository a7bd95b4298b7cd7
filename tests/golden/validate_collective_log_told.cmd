# The same with its test told.
shardplan validate --kind collective --collective all-reduce tests/data/nccl/a100_old_version.log
