#include "reason/axis_links.h"

#include <algorithm>
#include <functional>

#include "estimate/axis_bandwidth.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

/// How far from what there is a bandwidth is sought: what needs more is not to be had, what is still hidden
/// at so little does not use the tier.
constexpr double kMost = 1024, kLeast = 1.0 / (1LL << 40);
constexpr double kDigits = 1e-9;
/// Sums of what is hidden differ from what is spent in their last digits.
constexpr double kRounding = 1e-9;

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

/// The plan's step where a tier has so many times the bandwidth.
TimeBreakdown<> timed(const Estimator& estimator, const Plan& plan, std::size_t tier, double factor) {
  Question question = estimator.question();
  // Nothing is searched, and listing the whole space takes time.
  question.whole_space = false;
  Tier& link = question.cluster.tiers[tier];
  link.bandwidth.value = link.bandwidth.value * ratio(factor);
  return Estimator(question).time<double>(plan);
}

/// From where on `holds` does; nothing where it does nowhere or everywhere. It is taken to turn once.
std::optional<double> least_factor(const std::function<bool(double)>& holds) {
  constexpr double kStep = 2;
  double yes = 1, no = 1;
  if (holds(1)) {
    do {
      yes = no;
      no /= kStep;
    } while (no >= kLeast && holds(no));
    if (no < kLeast) return std::nullopt;
  } else {
    do {
      no = yes;
      yes *= kStep;
    } while (yes <= kMost && !holds(yes));
    if (yes > kMost) return std::nullopt;
  }
  while (yes - no > kDigits * yes) {
    const double middle = (yes + no) / 2;
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

}  // namespace

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

bool stays_hidden(const TimeBreakdown<>& time, AxisTraffic traffic, Ratio<> contention) {
  if (!hides(time, traffic)) return felt_of(time, traffic) <= compute_time(time) * ratio(kExposedShare);
  if (traffic != AxisTraffic::kContext) return felt_of(time, traffic) <= seconds(0);
  // Of every layer, forward and backward.
  const TimeEntry<>& ring = time[TimeTerm::kContext];
  return ring.exposed() <= ring.time * (contention + ratio(kRounding));
}

std::vector<AxisLink> axis_links(const Estimator& estimator, const Plan& plan, AxisTraffic traffic) {
  const Cluster& cluster = estimator.question().cluster;
  const Ratio<> contention = cluster.device.efficiency.contention.value;
  const TimeBreakdown<> now = estimator.time<double>(plan);
  const AxisCost<>& cost = cost_of(now, traffic);
  std::vector<AxisLink> links;
  for (std::size_t tier = 0; tier <= cost.group.tier; ++tier) {
    if (cost_of(timed(estimator, plan, tier, kLeast), traffic).once() == cost.once())
      continue;  // none of its ranks meet there
    AxisLink link{tier, tier_bandwidth(cluster, tier), std::nullopt};
    const auto factor = least_factor(
        [&](double f) { return stays_hidden(timed(estimator, plan, tier, f), traffic, contention); });
    if (factor) link.required = link.available * ratio(*factor);
    links.push_back(link);
  }
  return links;
}

}  // namespace shardplan
