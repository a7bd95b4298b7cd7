shardplan memory --preset llama3-8b --recompute mlp,layer_nrom
