#include "catalog/cluster.h"

namespace shardplan {

std::size_t tier_of(const Cluster& cluster, std::int64_t span) {
  for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i) {
    if (span <= cluster.tiers[i].size) return i;
  }
  return cluster.tiers.size() - 1;
}

}  // namespace shardplan
