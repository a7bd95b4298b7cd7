# Expert parallelism for a model without experts names the axis that was typed.
shardplan memory --preset llama3-8b --etp 2
