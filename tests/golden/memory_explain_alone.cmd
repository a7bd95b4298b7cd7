shardplan memory --explain
