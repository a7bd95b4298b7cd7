# The version.
shardplan --version
