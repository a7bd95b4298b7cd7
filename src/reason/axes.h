// Each axis of the best plan with the bandwidth it needs, and each axis left at 1 with what it would cost.
//
//   axis_findings(estimator, best)          // {"tp", 8, "node", needs 107 GB/s, has 300 GB/s, "..."}
//   unused_axes(estimator, fixed, result).found   // {"pp", "the best plan with it, dp32·pp2·..., takes ..."}
//
// Axes are dp, zero, tp, pp, cp and ep. One that hides under compute needs the bandwidth at which it does;
// one that nothing hides, the bandwidth at which it takes a tenth of compute. The reason says which. Not
// here: how that bandwidth is found (axis_links.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reason/answer.h"
#include "reason/axis_links.h"

namespace shardplan {

struct PlanAxis {
  const char* name;
  Degree degree;  // of zero its stage
  AxisTraffic traffic;
};
inline constexpr std::array kPlanAxes{
    PlanAxis{"dp", Degree::kDp, AxisTraffic::kData},    PlanAxis{"zero", Degree::kZero, AxisTraffic::kGather},
    PlanAxis{"tp", Degree::kTp, AxisTraffic::kTensor},  PlanAxis{"pp", Degree::kPp, AxisTraffic::kPipeline},
    PlanAxis{"cp", Degree::kCp, AxisTraffic::kContext}, PlanAxis{"ep", Degree::kEp, AxisTraffic::kExpert}};
/// The plan has it: more than one rank, a stage above 0.
inline bool uses(const Plan& plan, const PlanAxis& axis) {
  return degree_of(plan, axis.degree) > lowest(axis.degree);
}

std::vector<AxisFinding> axis_findings(const Estimator& estimator, const Estimate& best);

struct UnusedAxes {
  std::vector<UnusedAxis> found;
  std::vector<std::string> left;  // axes for which no plan was looked for to the end, as it was stopped
};
UnusedAxes unused_axes(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                       SearchWatch* watch = nullptr);

}  // namespace shardplan
