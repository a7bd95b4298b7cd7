# Failure rate, restart and storage of one's own.
shardplan plan --preset llama3-8b --gpu h100-sxm --gpus 512 --mtbf-gpu-hours 20000 --restart-time 15min --checkpoint-bandwidth 40
