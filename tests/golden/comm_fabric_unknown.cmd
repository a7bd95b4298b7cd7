# A misspelt fabric, as JSON too.
shardplan comm --fabric ib-nrd-400 --gpus 8 --bytes 1MiB --json
