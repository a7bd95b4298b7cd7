# The step of a long sequence by conventions that count attention whole: more than all of the peak.
shardplan plan --preset llama3-8b --gpus 8 --seq 131072
