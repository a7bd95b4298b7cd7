#include "reason/smallest_cluster.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>

namespace shardplan {
namespace {

// Node counts that are searched before it is given up.
constexpr int kTries = 12;

constexpr std::uint8_t bits(std::initializer_list<Offload> parts) {
  std::uint8_t all = 0;
  for (const Offload part : parts) all |= static_cast<std::uint8_t>(part);
  return all;
}

constexpr std::array kOnHost{bits({Offload::kOptimizer}), bits({Offload::kOptimizer, Offload::kParameters}),
                             bits({Offload::kActivations}),
                             bits({Offload::kOptimizer, Offload::kActivations}),
                             bits({Offload::kOptimizer, Offload::kParameters, Offload::kActivations})};

/// On fewer than `before` GPUs.
std::optional<SmallestCluster> smallest_before(const Question& question, const Floor& floor,
                                               std::int64_t before) {
  Question q = question;
  // Replicas take what the other axes leave; a batch that was not told follows them.
  q.fixed.dp.reset();
  const std::int64_t node = gpus_of_node(q.cluster);
  const auto least = static_cast<std::int64_t>(floor.min_gpus_whole_nodes);
  for (int i = 0; i < kTries; ++i) {
    set_gpus(q.cluster, least + i * node);
    if (q.cluster.gpus >= before) break;
    const Estimator estimator(q);
    SearchResult found = fastest(estimator, q.fixed);
    if (found.best)
      return SmallestCluster{q.cluster.gpus, *found.best, estimator.host_need(found.best->plan)};
  }
  return std::nullopt;
}

constexpr std::int64_t kAnyCount = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::span<const std::uint8_t> offload_choices() { return kOnHost; }

std::optional<SmallestCluster> smallest_cluster(const Question& question, const Floor& floor) {
  return smallest_before(question, floor, kAnyCount);
}

std::optional<SmallestCluster> smallest_offloading(const Question& question,
                                                   const std::optional<SmallestCluster>& without) {
  if (question.fixed.offload || !question.cluster.device.pcie_bandwidth) return std::nullopt;
  std::optional<SmallestCluster> fewest;
  for (const std::uint8_t kept : kOnHost) {
    Question q = question;
    q.fixed.offload = kept;
    // As few as another way takes may be faster here.
    const std::int64_t before = fewest ? fewest->gpus + 1 : without ? without->gpus : kAnyCount;
    const auto found = smallest_before(q, state_floor(Estimator(q)), before);
    if (!found) continue;
    const bool fewer = !fewest || found->gpus < fewest->gpus;
    if (fewer || better(found->best, fewest->best)) fewest = found;
  }
  return fewest;
}

}  // namespace shardplan
