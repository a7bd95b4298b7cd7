# One rank has nobody to send to.
shardplan comm --gpu H100 --gpus 1 --collective send-recv --bytes 1MiB
