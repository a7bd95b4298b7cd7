# The trace's numbers in the answer's JSON.
shardplan plan --preset llama3-8b --gpus 8 --tp 2 --pp 4 --micro-batch 1 --global-batch 16 --interleave 2 --timeline /tmp/shardplan_golden_step.json --json
