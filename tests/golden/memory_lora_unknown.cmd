shardplan memory --preset llama3-8b --lora 16:q_prj
