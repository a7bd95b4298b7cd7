#include "catalog/cluster.h"

#include <algorithm>

namespace shardplan {

std::size_t tier_of(const Cluster& cluster, std::int64_t span) {
  for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i) {
    if (span <= cluster.tiers[i].size) return i;
  }
  return cluster.tiers.size() - 1;
}

void fit_tiers(Cluster& cluster) {
  std::vector<Tier>&tiers = cluster.tiers, &beyond = cluster.beyond;
  const auto outermost = std::find_if(tiers.begin(), tiers.end(), [&](const Tier& tier) {
    return tier.size >= cluster.gpus || &tier == &tiers.back();
  });
  if (outermost == tiers.end()) return;
  beyond.insert(beyond.begin(), outermost + 1, tiers.end());
  tiers.erase(outermost + 1, tiers.end());
  if (tiers.back().size == 0) tiers.back().size = cluster.gpus;
}

void set_gpus(Cluster& cluster, std::int64_t gpus) {
  cluster.gpus = gpus;
  cluster.tiers.insert(cluster.tiers.end(), cluster.beyond.begin(), cluster.beyond.end());
  cluster.beyond.clear();
  fit_tiers(cluster);
  Tier& outer = cluster.tiers.back();
  outer.size = std::max(outer.size, gpus);
  fit_torus(cluster);
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
