shardplan compare dp8.tp8.z1.mb1.ga16 dp8.tp8.z1.mb1.ga32 --preset llama3-8b --gpu h100-sxm --framework megatron
