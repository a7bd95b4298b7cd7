// The least bandwidth at which an axis' traffic stays hidden, solved with the model that times it.
//
//   axis_links(estimator, plan, AxisTraffic::kData)
//   // {tier 0: needs 31 of 300 GB/s}, {tier 1: needs 4.1 of 50 GB/s}
//
// The plan is timed again at one bandwidth after another, the other tiers as they are, until it turns: the
// algorithm that a library picks at each is the one it is timed with. Traffic that the framework runs beside
// work is hidden where all of it finds work to run beside; what nothing hides is held against a share of
// compute (catalog/risk.h). Not here: what is said of it (axes.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "estimate/estimator.h"

namespace shardplan {

/// What moves bytes for an axis. What ZeRO gathers beside the forward pass is its own; the gradients, and the
/// weights that it gathers again beside them, are kData.
enum class AxisTraffic { kData, kGather, kTensor, kPipeline, kContext, kExpert };

/// That of kGather is the one of the gradients.
Axis axis_of(AxisTraffic traffic);
const AxisCost<>& cost_of(const TimeBreakdown<>& time, AxisTraffic traffic);
TimeTerm term_of(AxisTraffic traffic);
/// The framework runs it beside work.
bool hides(const TimeBreakdown<>& time, AxisTraffic traffic);
/// What is felt of it in a step.
Seconds<> felt_of(const TimeBreakdown<>& time, AxisTraffic traffic);
/// It is hidden or, where nothing hides it, no more than the share of compute that the question's risk
/// figures allow.
bool stays_hidden(const Question& question, const TimeBreakdown<>& time, AxisTraffic traffic);
/// The plan's step where a tier has so many times the bandwidth.
TimeBreakdown<> timed_with_bandwidth(const Estimator& estimator, const Plan& plan, std::size_t tier,
                                     double factor);

struct AxisLink {
  std::size_t tier = 0;
  BytesPerSecond<> available;                // per GPU and direction, oversubscription applied
  std::optional<BytesPerSecond<>> required;  // nothing: no bandwidth of this tier is enough
  /// Where none is enough: what is felt of the traffic at kMostFactor times what there is.
  Seconds<> felt_at_most{};
  /// By which factor, up or down, it has to change before it no longer hides or hides.
  double turns_at() const;
};

/// Of each tier that has a part in what the traffic takes, the innermost first.
std::vector<AxisLink> axis_links(const Estimator& estimator, const Plan& plan, AxisTraffic traffic);

}  // namespace shardplan
