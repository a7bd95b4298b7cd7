shardplan serve --preset deepseek-v3 --gpu b200 --gpus 8 --tp 8 --pp 1 --batch 1 --seq 4096 --draft-tokens 3 --accepted 2.82 --engine trtllm --export
