# An empty file name.
shardplan drill check ""
