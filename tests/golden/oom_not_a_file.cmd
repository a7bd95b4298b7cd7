shardplan oom /dev/zero
