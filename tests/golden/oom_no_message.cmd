shardplan oom "it crashed"
