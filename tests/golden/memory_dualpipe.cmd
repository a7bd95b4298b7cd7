# Two copies of the stages, p + 1 micro-batches alive on every rank.
shardplan memory --preset llama3-8b --gpus 8 --pp 8 --schedule dualpipe
