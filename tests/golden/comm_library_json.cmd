# The same question as JSON, with a step to hide under.
shardplan comm --gpu H100 --gpus 16 --params 1 --step-ms 100 --json
