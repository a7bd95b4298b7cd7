# The ninth rank is alone in its node: one network card carries all.
shardplan comm --gpu H100 --gpus 9 --bytes 1GiB
