#include "reason/smallest_cluster.h"

#include <algorithm>

namespace shardplan {
namespace {

// Node counts that are searched before it is given up.
constexpr int kTries = 12;

}  // namespace

std::optional<SmallestCluster> smallest_cluster(const Question& question, const Floor& floor) {
  Question q = question;
  // Replicas take what the other axes leave; a batch that was not told follows them.
  q.fixed.dp.reset();
  const std::int64_t node = q.cluster.tiers.front().size;
  const auto least = static_cast<std::int64_t>(floor.min_gpus_whole_nodes);
  for (int i = 0; i < kTries; ++i) {
    q.cluster.gpus = least + i * node;
    Tier& outer = q.cluster.tiers.back();
    outer.size = std::max(outer.size, q.cluster.gpus);
    const Estimator estimator(q);
    SearchResult found = search(estimator, q.fixed, 0);
    if (found.best) return SmallestCluster{q.cluster.gpus, *found.best};
  }
  return std::nullopt;
}

}  // namespace shardplan
