// Each axis of the best plan with the bandwidth it needs, and each axis left at 1 with what it would cost.
//
//   axis_findings(estimator, best)          // {"tp", 8, "node", needs 107 GB/s, has 300 GB/s, "..."}
//   unused_axes(estimator, fixed, result).found   // {"pp", "the best plan with it, dp32·pp2·..., takes ..."}
//
// Axes are dp, zero, tp, pp, cp and ep; dp·cp is the reduction of gradients where there is one replica whose
// sequences are spread over ranks. One that hides under compute needs the bandwidth at which it does;
// one that nothing hides, the bandwidth at which it takes a tenth of compute. The reason says which. Not
// here: how that bandwidth is found (axis_links.h).
#pragma once

#include <array>
#include <span>
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
/// The one of the gradients, over replicas, over the ranks of a sequence, or over both; null where there is
/// none.
const AxisFinding* gradient_reduction(std::span<const AxisFinding> findings);

// Parts of a finding, shared with those of serving (serve_axes.cpp).
class Sentence;
/// The link whose bandwidth is nearest to what is needed of it: there it turns first. Where no bandwidth of
/// any is enough, the one that the collective waits for.
std::size_t pacing(std::span<const AxisLink> links, std::size_t paced_by);
/// What each link needs, as it is printed: not rounded down. One number wherever it is told.
std::vector<AxisLink> as_printed(std::vector<AxisLink> links);
/// The bandwidths of the links beside the main one, and what no bandwidth does.
void add_links(const Cluster& cluster, std::span<const AxisLink> links, const AxisLink& main, Sentence& s);
void keep_links(const Cluster& cluster, std::span<const AxisLink> links, AxisFinding& found);

/// "tensor-parallel traffic", "weights that are gathered".
std::string words_of(AxisTraffic traffic);

struct UnusedAxes {
  std::vector<UnusedAxis> found;
  std::vector<std::string> left;  // axes for which no plan was looked for to the end, as it was stopped
};
UnusedAxes unused_axes(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                       SearchWatch* watch = nullptr);

}  // namespace shardplan
