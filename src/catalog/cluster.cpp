#include "catalog/cluster.h"

#include <algorithm>

namespace shardplan {

std::size_t tier_of(const Cluster& cluster, std::int64_t span) {
  for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i) {
    if (span <= cluster.tiers[i].size) return i;
  }
  return cluster.tiers.size() - 1;
}

void fit_torus(Cluster& cluster) {
  const auto& pod = cluster.device.scale_up.torus;
  if (!pod || cluster.tiers.empty() || !cluster.tiers.front().own_link) {
    cluster.torus.reset();
    return;
  }
  const std::int64_t chips = std::max<std::int64_t>(1, std::min(cluster.tiers.front().size, cluster.gpus));
  if (cluster.torus && cluster.torus->told && cluster.torus->chips() == chips) return;
  cluster.torus = most_cubic(*pod, chips);
}

}  // namespace shardplan
