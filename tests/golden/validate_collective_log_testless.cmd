# A log of an old version does not name its test.
shardplan validate --kind collective tests/data/nccl/a100_old_version.log
