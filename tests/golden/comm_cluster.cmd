# A cluster of the catalog and another collective.
shardplan comm --cluster dgx-h100 --collective all-gather --bytes 1GB
