// The inputs of a question that a step's time may depend on, each with how it is read and set.
//
//   for (const Input& input : time_inputs(question, plan)) input.set(question, plan, 1.1 * input.current);
//
// Names: bandwidth_inter_node and the like as in thresholds; "kernels.x" and "framework.x" are constants of
// catalog/timing.json (`shardplan catalog timing`). What is a choice and no measure is none: the precision,
// the tiles of a kernel, the shape of the model. Not here: what a change of it does (sensitivity.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "catalog/question.h"
#include "catalog/spread.h"

namespace shardplan {

struct Input {
  std::string name;
  std::string unit;  // SI base unit; empty for a ratio
  double current = 0;
  /// Sets it in a question, and in its plan where that depends on it: the micro-batches of a batch.
  std::function<void(Question&, Plan&, double)> set;
  /// The values that it can have, in whole multiples of `step`; 0 = any.
  double least = 0, most = std::numeric_limits<double>::infinity(), step = 0;
  std::optional<Spread> spread;  // how far off its source says it may be
};

/// A tier as inputs are named: "intra_node", "inter_node", between them its own name.
std::string tier_name(const Cluster& cluster, std::size_t tier);

/// Bandwidth and latency of one tier.
Input bandwidth_input(const Cluster& cluster, std::size_t tier);
Input latency_input(const Cluster& cluster, std::size_t tier);
/// In whole tiles, and in what context and sequence parallelism of the plan divide.
/// From so many tokens on a sequence is told in thousands.
inline constexpr std::int64_t kLongSequence = 8192;
Input sequence_input(const Question& question, const Plan& plan);
/// In what the plan's replicas and chunks divide.
Input batch_input(const Plan& plan);

/// Those that are not 0.
std::vector<Input> time_inputs(const Question& question, const Plan& plan);

}  // namespace shardplan
