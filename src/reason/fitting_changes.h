// Where nothing fits: what stands in the way, and how far each of it alone has to move until some plan fits.
//
//   for (const MovableLimit& one : movable_limits(estimator, fixed, result, watch))
//     one.least();   // {"gpus", "GPUs from 64 to 96", ..., the fastest plan there}; nothing: it is not
//     enough
//
// The limits: memory of a GPU and of a host, the number of GPUs, sequence, batch, each told axis, the format
// of products and optimizer, that nothing is kept on hosts. Every change is planned again. Not here: which of
// them belong together, and what is said (nothing_fits.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// A question with what is told of its plan.
struct AskedPlan {
  Question question;
  FixedAxes fixed;
};

/// What a change costs a person, the cheapest kind first.
enum class ChangeCost {
  kNothing,   // something told is taken back
  kSlower,    // the host's memory is used
  kMore,      // more of a machine, or less of a batch
  kTraining,  // other numbers come out
};

struct MovableLimit {
  Limit limit;
  ChangeCost cost = ChangeCost::kNothing;
  /// Can help where the state alone is too large for all GPUs together.
  bool of_state = false;
  /// It alone, moved as little as is enough; nothing where it is not, or the watch has stopped it.
  std::function<std::optional<FittingChange>()> least;
  /// Takes it away, for a search without several of them; empty where only `least` knows how.
  std::function<void(AskedPlan&)> lift;
};

/// Of a question of which `result` is that nothing fits. They refer to what they are made from.
std::vector<MovableLimit> movable_limits(const Estimator& estimator, const FixedAxes& fixed,
                                         const SearchResult& result, SearchWatch* watch);

/// The best plan; nothing where none fits.
std::optional<Estimate> best_of(const AskedPlan& asked, SearchWatch* watch);

/// All that is told of a plan, by name, and how to take it back.
struct ToldLimit {
  Limit limit;
  std::function<void(FixedAxes&)> free;
};
std::vector<ToldLimit> told_limits(const FixedAxes& fixed);

}  // namespace shardplan
