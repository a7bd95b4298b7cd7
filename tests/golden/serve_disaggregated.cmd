shardplan serve --preset llama3-70b --gpu h100-sxm --gpus 32 --input 8000 --output 500 --precision fp8 --tpot-ms 30 --ttft-ms 3000 --mode either --export
