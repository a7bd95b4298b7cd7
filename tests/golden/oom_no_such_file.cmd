shardplan oom /nonexistent-file
