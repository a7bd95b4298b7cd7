#include "reason/axis_links.h"

#include <algorithm>
#include <limits>

#include "estimate/tier_bandwidth.h"
#include "reason/bisect.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

/// Sums of what is hidden differ from what is spent in their last digits.
constexpr double kRounding = 1e-9;

}  // namespace

double AxisLink::turns_at() const {
  if (!required) return std::numeric_limits<double>::infinity();
  const double factor = (*required / available).raw();
  return std::max(factor, 1 / factor);
}

Axis axis_of(AxisTraffic traffic) {
  switch (traffic) {
    case AxisTraffic::kTensor:
      return Axis::kTensor;
    case AxisTraffic::kPipeline:
      return Axis::kPipeline;
    case AxisTraffic::kContext:
      return Axis::kContext;
    case AxisTraffic::kExpert:
      return Axis::kExpert;
    default:
      return Axis::kData;
  }
}

const AxisCost<>& cost_of(const TimeBreakdown<>& time, AxisTraffic traffic) {
  return traffic == AxisTraffic::kGather ? time.gather : time.axis(axis_of(traffic));
}

TimeTerm term_of(AxisTraffic traffic) { return time_term(axis_of(traffic)); }

bool hides(const TimeBreakdown<>& time, AxisTraffic traffic) {
  if (traffic != AxisTraffic::kData && traffic != AxisTraffic::kGather && traffic != AxisTraffic::kContext)
    return false;
  return cost_of(time, traffic).window > seconds(0);
}

Seconds<> felt_of(const TimeBreakdown<>& time, AxisTraffic traffic) {
  // The term of data parallelism holds both directions of ZeRO.
  if (traffic != AxisTraffic::kData && traffic != AxisTraffic::kGather)
    return time[term_of(traffic)].exposed();
  const AxisCost<>& cost = cost_of(time, traffic);
  return std::max(cost.once() - cost.window, seconds(0)) * cost.occurrences;
}

bool stays_hidden(const Question& question, const TimeBreakdown<>& time, AxisTraffic traffic) {
  if (!hides(time, traffic))
    return felt_of(time, traffic) <= compute_time(time) * question.risk->exposed.value;
  if (traffic != AxisTraffic::kContext) return felt_of(time, traffic) <= seconds(0);
  // Of every layer, forward and backward; the share that is felt even of what is hidden.
  const Ratio<> contention = question.cluster.device.efficiency.contention.value;
  const TimeEntry<>& ring = time[TimeTerm::kContext];
  return ring.exposed() <= ring.time * (contention + ratio(kRounding));
}

TimeBreakdown<> timed_with_bandwidth(const Estimator& estimator, const Plan& plan, std::size_t tier,
                                     double factor) {
  Question question = estimator.question();
  // Nothing is searched, and listing the whole space takes time.
  question.whole_space = false;
  Tier& link = question.cluster.tiers[tier];
  link.bandwidth.value = link.bandwidth.value * ratio(factor);
  return Estimator(question).time<double>(plan);
}

std::vector<AxisLink> axis_links(const Estimator& estimator, const Plan& plan, AxisTraffic traffic) {
  const Cluster& cluster = estimator.question().cluster;
  const TimeBreakdown<> now = estimator.time<double>(plan);
  const AxisCost<>& cost = cost_of(now, traffic);
  std::vector<AxisLink> links;
  for (std::size_t tier = 0; tier <= cost.group.tier; ++tier) {
    if (cost_of(timed_with_bandwidth(estimator, plan, tier, kLeastFactor), traffic).once() == cost.once())
      continue;  // none of its ranks meet there
    AxisLink link{tier, tier_bandwidth(cluster, tier), std::nullopt, {}};
    const auto factor = least_factor([&](double f) {
      return stays_hidden(estimator.question(), timed_with_bandwidth(estimator, plan, tier, f), traffic);
    });
    if (factor) {
      link.required = link.available * ratio(*factor);
    } else {
      link.felt_at_most = felt_of(timed_with_bandwidth(estimator, plan, tier, kMostFactor), traffic);
    }
    links.push_back(link);
  }
  return links;
}

}  // namespace shardplan
