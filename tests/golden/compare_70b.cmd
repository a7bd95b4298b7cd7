shardplan compare dp4·tp2·pp4·cp2·z1·mb1·ga256 dp8·tp4·pp2·z1·mb1·ga128 --preset llama3-70b --gpu h100-sxm
