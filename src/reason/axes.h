// Each axis of the best plan with the bandwidth it needs, and each axis left at 1 with what it would cost.
//
//   axis_findings(estimator, best)          // {"tp", 8, "node", needs 107 GB/s, has 300 GB/s, "..."}
//   unused_axes(estimator, fixed, result).found   // {"pp", "the best plan with it, dp32·pp2·..., takes ..."}
//
// An axis that hides under compute needs the bandwidth at which it does; one that nothing hides, the
// bandwidth at which it takes a tenth of compute. The reason says which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

std::vector<AxisFinding> axis_findings(const Estimator& estimator, const Estimate& best);

struct UnusedAxes {
  std::vector<UnusedAxis> found;
  std::vector<std::string> left;  // axes for which no plan was looked for to the end, as it was stopped
};
UnusedAxes unused_axes(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                       SearchWatch* watch = nullptr);

/// Degree of an axis in a plan.
std::int64_t degree(const Plan& plan, Axis axis);

}  // namespace shardplan
