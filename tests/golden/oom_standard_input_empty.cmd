shardplan oom -
