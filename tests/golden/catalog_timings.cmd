# What each framework hides and adds, release by release.
shardplan catalog timings
