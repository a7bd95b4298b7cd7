# Nothing to draw: the answer is no, and no file is written.
shardplan plan --params 175 --layers 96 --hidden 12288 --heads 96 --seq 2048 --gpus 8 --timeline step.svg
