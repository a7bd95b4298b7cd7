#include "estimate/tier_bandwidth.h"

#include "cost/group_collectives.h"

namespace shardplan {

BytesPerSecond<> tier_bandwidth(const Cluster& cluster, std::size_t tier) {
  return cluster_links<double>(cluster)[tier].bandwidth;
}

}  // namespace shardplan
