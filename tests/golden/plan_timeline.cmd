# A told plan, its step as a picture; simulation and closed form side by side.
shardplan plan --preset llama3-8b --gpus 8 --tp 2 --pp 4 --micro-batch 1 --global-batch 8 --schedule zb-h1 --timeline /tmp/shardplan_golden_step.svg
