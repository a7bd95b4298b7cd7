shardplan serve --preset llama3-70b --gpu h200 --gpus 8 --input 1024 --output 1024 --precision fp8 --kv-precision fp8 --engine trtllm --tpot-ms 25 --ttft-ms 1000 --percentile 90
