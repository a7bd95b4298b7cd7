// What would make room: the plans next to one, each held against what it frees and what it costs.
//
//   for (const Remedy& r : remedies(estimator, plan, needed)) ...   // {"pp 4 to 8, dp 2 to 1", plan, ...}
//
// A neighbour changes one thing, for the same GPUs and the same batch: micro-batch halved, more recomputed, a
// degree doubled at the cost of another, more sharded. Not here: the best plan of all (search/search.h).
#pragma once

#include <string>
#include <vector>

#include "estimate/estimator.h"

namespace shardplan {

struct Remedy {
  std::string change;  // "tp 4 to 8, dp 2 to 1"
  Plan plan;
  Bytes<> memory;  // of the fullest stage
  Bytes<> freed;
  Ratio<> step;  // time of a step over that of the plan it replaces
};

/// Those that free at least `needed` on the fullest stage, least step time first. Two changes together are
/// tried where no single one is enough.
std::vector<Remedy> remedies(const Estimator& estimator, const Plan& plan, Bytes<> needed);

/// What differs, in the words of the flags.
std::string change_words(const Plan& from, const Plan& to);

}  // namespace shardplan
