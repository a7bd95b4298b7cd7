shardplan plan --model llama3-8b --gpu h100-sxm --gpus 8 --framework deepspeed --tp-overlap async
