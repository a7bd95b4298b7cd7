# No command.
shardplan
