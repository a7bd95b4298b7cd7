# An ending is no name.
shardplan plan --preset llama3-8b --gpu H100 --gpus 8 --timeline .json
