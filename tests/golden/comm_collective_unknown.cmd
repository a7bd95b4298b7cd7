# A misspelt collective.
shardplan comm --collective all-redcue --gpus 8 --bw 50 --bytes 1MiB
