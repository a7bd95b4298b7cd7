shardplan compare dp16.z0.mb1 dp8.tp2.z0.mb1 --preset llama3-70b --gpu h100-sxm --gpus 16
