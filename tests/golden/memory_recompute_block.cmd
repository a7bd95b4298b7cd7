# The first two layers of each stage keep only their input.
shardplan memory --preset llama3-8b --gpus 8 --pp 4 --tp 2 --activations ops --recompute full:2
