// The sizes of a GPU's memory nearest to today's at which the answer changes.
//
//   HbmScan scan(estimator, fixed, result);
//   scan.above();    // the smallest size above today's at which another layout is the best
//
// No plan's time depends on how much memory there is, so with more of it each layout's best plan only becomes
// faster. That makes them exact: the plan of least memory among all that beat the best layout's is found by
// halving; where the best layout has itself become faster by then, those that beat that are sought. A size is
// given to the hundredth of a GiB that is printed, on the side where it holds. Not here: what divides a
// sequence or a batch (threshold_scan.h).
#pragma once

#include <optional>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// The memory of a GPU, in bytes, at which `usable` would be usable.
double hbm_of(const Cluster& cluster, Bytes<> usable);

/// The size from which on the plan that misses by least fits.
Threshold hbm_that_fits(const Cluster& cluster, const NearestMiss& miss);

/// Where some plan fits. What is returned means nothing once it is stopped.
class HbmScan {
 public:
  HbmScan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result, SearchWatch* watch);

  /// The size below which another layout is the best or nothing fits; within a factor of 4, both.
  std::optional<Threshold> below();
  std::optional<Threshold> above();

 private:
  using Layouts = std::vector<BoundedLayout>;
  /// The best plan of these layouts with so much usable; nothing where none beats the rival.
  std::optional<Estimate> best(const Layouts& layouts, double usable,
                               const std::optional<Estimate>& rival = std::nullopt) const;
  /// Of those that beat the rival the one that needs least; with no more than `fails` none does.
  std::optional<Estimate> least(const Layouts& layouts, double usable, double fails,
                                const std::optional<Estimate>& rival) const;
  /// The best plan of all on a GPU of so many bytes.
  std::optional<Estimate> best_with(double hbm) const;
  bool differs(const std::optional<Estimate>& there) const;
  /// On either side of what a plan needs.
  std::optional<Threshold> threshold(const Estimate& turns, bool up) const;

  const Estimator& base_;
  const FixedAxes& fixed_;
  const SearchResult& result_;
  SearchWatch* watch_;
  double usable_;
  Layouts same_, others_;  // of the best plan's degrees, and all others
};

}  // namespace shardplan
