// The sizes of a GPU's memory at which the answer changes: exact.
//
//   HbmScan scan(estimator, fixed, best);
//   scan.above();    // the next size above today's at which another layout is the best
//
// A bisection comes near; then the plans that are best on the way are followed, each down to its own size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// The memory of a GPU, in bytes, at which `usable` would be usable.
double hbm_of(const Cluster& cluster, Bytes<> usable);

/// What is returned means nothing once it is stopped.
class HbmScan {
 public:
  HbmScan(const Estimator& base, const FixedAxes& fixed, const Estimate& best, SearchWatch* watch);

  /// The size below which another layout is the best or nothing fits.
  std::optional<Threshold> below();
  std::optional<Threshold> above();

 private:
  std::optional<Estimate> at(double usable);
  std::optional<Plan> known_at(const Question& question, Bytes<> usable) const;
  bool differs(const std::optional<Estimate>& found) const;
  void bisect(double& same, double& other);
  Threshold threshold(const Estimate& at, std::string then) const;

  const Estimator& base_;
  const FixedAxes& fixed_;
  const Estimate& best_;
  SearchWatch* watch_;
  std::vector<BoundedLayout> layouts_;
  std::vector<Estimate> found_;  // with any memory
};

}  // namespace shardplan
