// The search: every legal plan is counted, those that no bound shows to be slower or too large are worked
// out, the fastest are kept, and a census says why the others fell. What it returns is the optimum of the
// model, the same on any number of threads.
//
//   SearchResult r = search(estimator, fixed);   // r.best, r.runners_up, r.census
//
// Layouts (degrees) are taken in the order of what none of their plans undercuts, some at a time; those whose
// bound is above the slowest plan that is still wanted are not looked into.
//
// No arithmetic about GPUs here: that is estimate/. No clock either: callers time it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "estimate/estimator.h"
#include "search/search_watch.h"

namespace shardplan {

/// Sums in another order differ in their last digits: a bound has to be that much above to exclude.
inline constexpr double kRounding = 1 + 1e-9;

/// The rejected plan that came closest to fitting.
struct NearestMiss {
  Plan plan;
  MemoryBreakdown<> memory;
  int stage = 0;
  Constraint constraint = Constraint::kState;
  Bytes<> shortfall;
};

/// A plan that fits the devices, and what it keeps on a host that has less.
struct HostMiss {
  Plan plan;
  Bytes<> need;
};

/// What became of the legal plans: considered = judged() + slower + larger + alike,
/// judged() = feasible + rejected.
struct Census {
  std::int64_t considered = 0;  // legal plans
  // Not judged, as a bound excludes them all at once:
  std::int64_t slower = 0;  // each takes longer than the best plans, whether it fits or not
  std::int64_t larger = 0;  // none fits, as what it keeps at the least is too large
  std::int64_t alike =
      0;  // each is another one in an order of its ranks that puts every group on the same tiers
  std::int64_t feasible = 0;
  std::int64_t judged() const { return considered - slower - larger - alike; }
  std::array<std::int64_t, kConstraintCount>
      rejected{};  // each plan once, under the first memory constraint it fails
  /// Of all plans where none fits, else of those that were judged.
  std::optional<NearestMiss> nearest_miss;
  /// Of those that fit the devices but not the hosts, the one that asks least of a host.
  std::optional<HostMiss> nearest_host;
};

struct SearchResult {
  std::optional<Estimate> best;
  /// The best plan of each other layout (degrees), fastest first.
  std::vector<Estimate> runners_up;
  Census census;
  std::int64_t bounded = 0;  // layouts that the search had to bound itself
  bool stopped = false;      // before its end: what it holds is of the layouts that were searched
};

/// Faster per sequence first; then more headroom; then less traffic felt; then the smaller plan. Total and
/// deterministic.
bool better(const Estimate& a, const Estimate& b);

/// SearchOptions::slowest for plans that are as fast as this one, or faster.
double slowest_as_fast_as(const Estimate& e);

struct SearchOptions {
  std::size_t runners_up = 3;
  /// A legal plan that may be near the best, as a neighbouring question's is: what it reaches excludes
  /// others.
  std::optional<Plan> known = std::nullopt;
  /// Seconds a sequence: what takes longer is not looked for.
  double slowest = std::numeric_limits<double>::infinity();
  unsigned threads = 0;  // 0 = as many as the machine has
  SearchWatch* watch = nullptr;
};

/// A layout that has plans, and what none of them undercuts.
struct BoundedLayout {
  double per_sequence = 0;  // seconds
  Plan layout;
  std::int64_t plans = 0;  // legal ones
  bool alike = false;      // another one's ranks in an order that changes nothing
};
/// All layouts, unless it is stopped: the least bound first, those that are alike last; bounds of what the
/// options do not want are not as sharp as they could be. One list serves devices of every memory.
std::vector<BoundedLayout> bounded_layouts(const Estimator& estimator, const FixedAxes& fixed,
                                           const SearchOptions& options = {});

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, const SearchOptions& options = {});
/// The same over the layouts of `bounded_layouts`, or some of them.
SearchResult search(const Estimator& estimator, const FixedAxes& fixed,
                    const std::vector<BoundedLayout>& layouts, const SearchOptions& options = {});

/// For who asks for the best plan alone.
inline SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed,
                            const std::vector<BoundedLayout>& layouts,
                            const std::optional<Plan>& known = std::nullopt, SearchWatch* watch = nullptr) {
  return search(estimator, fixed, layouts, SearchOptions{.runners_up = 0, .known = known, .watch = watch});
}
inline SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed,
                            const std::optional<Plan>& known = std::nullopt, SearchWatch* watch = nullptr) {
  return search(estimator, fixed, SearchOptions{.runners_up = 0, .known = known, .watch = watch});
}

}  // namespace shardplan
