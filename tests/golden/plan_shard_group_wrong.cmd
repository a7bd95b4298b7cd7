shardplan plan --preset llama3-8b --gpu h100 --gpus 16 --shard-group 5 --framework torchtitan
