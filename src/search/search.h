// The search: of every legal plan that no bound shows to be slower, memory and step time; the fastest kept,
// and a census of why the others fell. What it returns is the optimum of the model.
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

/// What became of the legal plans: considered = judged() + slower + larger, judged() = feasible + rejected.
struct Census {
  std::int64_t considered = 0;  // legal plans
  // Not judged, as a bound excludes them all at once:
  std::int64_t slower = 0;  // each takes longer than the best plan of its layout, whether it fits or not
  std::int64_t larger = 0;  // none fits, as what it keeps at the least is too large
  std::int64_t feasible = 0;
  std::int64_t judged() const { return considered - slower - larger; }
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

/// A layout that has plans, and what none of them undercuts.
struct BoundedLayout {
  double per_sequence = 0;  // seconds
  Plan layout;
};
/// All layouts, the least bound first. Memory plays no part: one list serves devices of every memory.
std::vector<BoundedLayout> bounded_layouts(const Estimator& estimator, const FixedAxes& fixed);

/// The same best plan and nothing else: no other layout is followed to its own best, and the census counts
/// only what was looked at, which depends on the threads; that it is empty says that no plan is legal.
/// `known`: a plan that may be near the best, as a neighbouring question's is.
SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed,
                     const std::vector<BoundedLayout>& layouts,
                     const std::optional<Plan>& known = std::nullopt);
SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed,
                     const std::optional<Plan>& known = std::nullopt);

}  // namespace shardplan
