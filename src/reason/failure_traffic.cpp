// Failures of the step's traffic: links that become slower than what was estimated, or were too slow from the
// start.
#include <algorithm>
#include <array>

#include "estimate/tier_bandwidth.h"
#include "reason/bisect.h"
#include "reason/failure_kinds.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

using Case = FailureCase;

const std::string& tier_name(const Case& c, std::size_t tier) { return c.cluster().tiers[tier].name; }

/// Bandwidth of a tier at which an axis' exposed time has grown by what is felt, found by estimating the plan
/// again.
Stated felt_bandwidth(const Case& c, TimeTerm term, std::size_t tier) {
  const Seconds<> limit = c.spent(term) + felt(c);
  const auto grown = [&](double factor) {
    return timed_with_bandwidth(c.estimator, c.plan(), tier, factor)[term].exposed() >= limit;
  };
  // Slower by more than this is no longer a link.
  constexpr double kSlowest = 1e-6;
  const double at = bisect(1, kSlowest, grown).value_or(kSlowest);
  Stated level = stated("level", tier_bandwidth(c.cluster(), tier) * ratio(at));
  level.text += " over " + tier_name(c, tier);
  return level;
}

// Gradient reduction ----------------------------------------------------------------------------------------

const AxisFinding* reduction(const Case& c) { return gradient_reduction(c.axes); }
bool exposed_now(const AxisFinding& x) {
  return !x.required_bandwidth || *x.required_bandwidth > *x.available_bandwidth;
}
bool reduction_near_window(const Case& c) {
  const AxisFinding* x = reduction(c);
  // Inside one node there is no network to fall behind.
  if (x == nullptr || x->required_for != "hidden" || c.tier(x->spans) == 0) return false;
  return !x->required_bandwidth ||
         *x->required_bandwidth * c.risk().network_margin.value > *x->available_bandwidth;
}
Sentence reduction_said(const Case& c) {
  const AxisFinding& x = *reduction(c);
  const bool gathers = c.question().framework.zero[static_cast<std::size_t>(c.plan().zero_stage)].weights;
  Sentence s("the gradient reduction");
  if (gathers) s << ", gathers of the weights included,";
  if (!x.required_bandwidth) {
    return s << " is hidden at no bandwidth of tier " + x.tier + ", which has "
             << stated("has", *x.available_bandwidth) << ": it is exposed already, and grows with every loss";
  }
  s << " needs " << stated_need("needs", *x.required_bandwidth) << " of the "
    << stated("has", *x.available_bandwidth) << " of tier " + x.tier + " to hide: ";
  if (exposed_now(x)) return s << "it is exposed already, and grows with every loss of bandwidth";
  return s << "less than " << stated_risk(c.risk(), &RiskFigures::network_margin)
           << " times what it needs is there, and a link that falls below it shows up in every step";
}
Arrival reduction_arrives(const Case& c) {
  const AxisFinding& x = *reduction(c);
  if (exposed_now(x)) return {"below", felt_bandwidth(c, TimeTerm::kData, c.tier(x.tier)), felt_said(c)};
  return {"below", stated_need("level", *x.required_bandwidth), Sentence("it is exposed")};
}

// Tensor parallelism ----------------------------------------------------------------------------------------

bool cross_node_tensor(const Case& c) {
  return c.plan().tp > 1 && c.best.time.axis(Axis::kTensor).group.tier > 0;
}
Sentence cross_node_tensor_said(const Case& c) {
  const std::size_t tier = c.best.time.axis(Axis::kTensor).group.tier;
  Sentence s("tensor parallelism of ");
  s << stated_count("tp", c.plan().tp) << " leaves the " << tier_name(c, 0)
    << ": its all-reduces run over " + tier_name(c, tier) + " at "
    << stated("has", tier_bandwidth(c.cluster(), tier)) << " and take ";
  return s << of_step(c, "exposed", c.spent(TimeTerm::kTensor));
}
Arrival cross_node_tensor_arrives(const Case& c) {
  const std::size_t tier = c.best.time.axis(Axis::kTensor).group.tier;
  return {"below", felt_bandwidth(c, TimeTerm::kTensor, tier), felt_said(c)};
}

// Pipeline sends --------------------------------------------------------------------------------------------

bool exposed_sends(const Case& c) {
  return c.plan().pp > 1 && c.spent(TimeTerm::kPipelineSends) > c.best.step * c.risk().worth_saying.value;
}
Sentence exposed_sends_said(const Case& c) {
  const AxisCost<>& cost = c.best.time.axis(Axis::kPipeline);
  const TimeEntry<>& sends = c.best.time[TimeTerm::kPipelineSends];
  Sentence s("sends of ");
  s << stated("bytes", bytes(cost.bytes)) << " between " << stated_count("stages", c.plan().pp)
    << " stages take " << stated("once", cost.once())
    << " each over " + tier_name(c, cost.group.paced_by) + ": of " << stated("sends", sends.time)
    << " a step " << stated("hidden", sends.hidden) << " run beside other work, the rest adds ";
  return s << of_step(c, "exposed", sends.exposed()) << ", more than "
           << stated_risk(c.risk(), &RiskFigures::worth_saying);
}
Arrival exposed_sends_arrive(const Case& c) {
  const std::size_t tier = c.best.time.axis(Axis::kPipeline).group.paced_by;
  return {"below", felt_bandwidth(c, TimeTerm::kPipelineSends, tier), felt_said(c)};
}

// Latency ---------------------------------------------------------------------------------------------------

/// The traffic of which latency takes most of the time, and of which most is felt.
const PlanAxis* latency_bound_axis(const Case& c) {
  const PlanAxis* found = nullptr;
  Seconds<> most = c.best.step * c.risk().worth_saying.value;
  for (const PlanAxis& axis : kPlanAxes) {
    const AxisCost<>& cost = cost_of(c.best.time, axis.traffic);
    const Seconds<> felt = felt_of(c.best.time, axis.traffic);
    if (cost.occurrences <= 0 || !latency_bound(cost) || felt <= most) continue;
    found = &axis;
    most = felt;
  }
  return found;
}
bool latency_paces(const Case& c) { return latency_bound_axis(c) != nullptr; }
Sentence latency_paces_said(const Case& c) {
  const PlanAxis& axis = *latency_bound_axis(c);
  const AxisCost<>& cost = cost_of(c.best.time, axis.traffic);
  const Seconds<> left =
      felt_of(timed_with_bandwidth(c.estimator, c.plan(), cost.group.paced_by, kMostFactor), axis.traffic);
  Sentence s("latency, not bandwidth, sets the pace of " + words_of(axis.traffic) + ": of ");
  s << stated("once", cost.once()) << " for " << stated("bytes", bytes(cost.bytes)) << " "
    << stated("latency", cost.group.cost.latency_term) << " are latency, "
    << stated_share("latency_share", cost.group.cost.latency_term / cost.once()) << ". "
    << stated_count("occurrences", cost.occurrences) << " of them add ";
  s << of_step(c, "felt", felt_of(c.best.time, axis.traffic)) << "; with "
    << stated_count("faster", kMostFactor)
    << " times the bandwidth over " + tier_name(c, cost.group.paced_by);
  return s << " they would still add " << stated("left", left);
}
/// Where a part of it always hides, what it grows by hides in that part too; beyond a window all is felt.
Arrival latency_paces_arrives(const Case& c) {
  const PlanAxis& axis = *latency_bound_axis(c);
  const AxisCost<>& cost = cost_of(c.best.time, axis.traffic);
  const Seconds<> once = hides(c.best.time, axis.traffic)
                             ? cost.once() + felt(c) / ratio(cost.occurrences)
                             : cost.once() * (ratio(1) + felt(c) / felt_of(c.best.time, axis.traffic));
  return {"above", stated("level", once), felt_said(c)};
}

constexpr std::array kKinds{
    FailureKind{"exposed_reduction", reduction_near_window, reduction_said, reduction_arrives,
                "step time grows with the number of nodes and varies with network load",
                "bus bandwidth of the reduction, beside the time from the end of backward to the optimizer"},
    FailureKind{"cross_node_tensor", cross_node_tensor, cross_node_tensor_said, cross_node_tensor_arrives,
                "GPUs idle between layers; the step follows every disturbance of the network",
                "bus bandwidth of the tensor-parallel all-reduces, beside their share of the step"},
    FailureKind{"exposed_sends", exposed_sends, exposed_sends_said, exposed_sends_arrive,
                "stages wait for their input between micro-batches, although their work is even",
                "bandwidth of sends between stages, beside the time that a receive waits"},
    FailureKind{"latency_bound", latency_paces, latency_paces_said, latency_paces_arrives,
                "many short gaps between kernels; a faster network does not shorten the step",
                "time of one such collective, beside the number of them in a step"},
};

}  // namespace

std::span<const FailureKind> traffic_failures() { return kKinds; }

}  // namespace shardplan
