// The search: every legal plan estimated, the fastest kept, and a census of why the others fell.
//
//   SearchResult r = search(estimator, fixed);   // r.best, r.runners_up, r.census
//
// No arithmetic about GPUs here: that is estimate/. No clock either: callers time it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/estimator.h"

namespace shardplan {

/// The rejected plan that came closest to fitting.
struct NearestMiss {
  Plan plan;
  MemoryBreakdown<> memory;
  int stage = 0;
  Constraint constraint = Constraint::kState;
  Bytes<> shortfall;
};

struct Census {
  std::int64_t considered = 0;  // legal plans
  std::int64_t feasible = 0;
  std::array<std::int64_t, kConstraintCount>
      rejected{};  // each plan once, under the first memory constraint it fails
  std::optional<NearestMiss> nearest_miss;
};

struct SearchResult {
  std::optional<Estimate> best;
  /// The best plan of each other layout (degrees), fastest first.
  std::vector<Estimate> runners_up;
  /// The best plan of every layout that has one, fastest first.
  std::vector<Plan> leaders;
  Census census;
};

/// Faster per sequence first; then more headroom; then the smaller plan. Total and deterministic.
bool better(const Estimate& a, const Estimate& b);

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, std::size_t runners_up = 3);

/// One plan that no other beats with as little memory.
struct FrontEntry {
  Bytes<> total;  // of the fullest stage
  Seconds<> per_sequence;
  Plan plan;
};

/// The best plan at every size of usable memory: it is the last entry whose total is no larger. Memory rises
/// and time falls along it.
std::vector<FrontEntry> memory_front(const Estimator& estimator, const FixedAxes& fixed);

}  // namespace shardplan
