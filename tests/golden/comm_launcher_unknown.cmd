# A misspelt launcher.
shardplan comm --gpu H100 --gpus 8 --bytes 64KiB --launcher cuda-grph
