# The requested block is the fp32 logits.
shardplan oom tests/data/oom/gpt2-774m.log --params 0.774 --layers 36 --hidden 1280 --heads 20 --vocab 50304 --seq 1024 --micro-batch 4 --gpu v100-32gb --activations paper
