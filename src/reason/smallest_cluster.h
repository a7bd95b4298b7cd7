// The fewest GPUs, in whole nodes, on which some plan fits.
//
//   const auto fewest = smallest_cluster(question, floor);        // {16, estimate of its best plan}
//   const auto host = smallest_offloading(question, fewest);      // {8, estimate, what a node's host keeps}
//
// Counted up node by node from what the state alone needs; the batch and the other told axes stay. Not here:
// what another plan on the same GPUs would need (reason/remedies.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "reason/memory_answer.h"

namespace shardplan {

/// Nothing where none of the first few counts has a plan that fits.
std::optional<SmallestCluster> smallest_cluster(const Question& question, const Floor& floor);

/// The same with what the framework can keep on a host that has room, where nobody told what is kept there;
/// nothing where that takes no fewer GPUs than `without`.
std::optional<SmallestCluster> smallest_offloading(const Question& question,
                                                   const std::optional<SmallestCluster>& without);

/// What may be kept on a host, each in the bits of a plan; which of it a framework can is a rule of the
/// space.
std::span<const std::uint8_t> offload_choices();

}  // namespace shardplan
