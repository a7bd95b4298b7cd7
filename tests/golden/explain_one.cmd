# One formula in full.
shardplan explain comm.required_bandwidth
