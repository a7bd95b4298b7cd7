# An ending that names no format.
shardplan plan --preset llama3-8b --gpus 8 --timeline step.jsn
