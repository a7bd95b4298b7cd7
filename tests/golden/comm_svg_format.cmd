# A drawing is of one format.
shardplan comm --gpu H100 --gpus 8 --sweep 8B:1GB --svg curve.png
