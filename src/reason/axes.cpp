#include "reason/axes.h"

#include <algorithm>
#include <array>

#include "estimate/axis_bandwidth.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// Where nothing hides an axis, its traffic is held against this share of compute.
constexpr double kExposedShare = 0.1;
constexpr std::array kAxisOrder{Axis::kData, Axis::kTensor, Axis::kPipeline, Axis::kContext, Axis::kExpert};

Degree degree_of(Axis axis) {
  static constexpr std::array<Degree, kAxisCount> kDegrees{Degree::kTp, Degree::kCp, Degree::kEp, Degree::kDp,
                                                           Degree::kPp};
  return kDegrees[static_cast<std::size_t>(axis)];
}

/// The framework runs the axis' traffic beside work; a window of nothing hides nothing.
bool hides(Axis axis, const AxisCost<>& cost) {
  return (axis == Axis::kData || axis == Axis::kContext) && cost.window > seconds(0);
}

const char* window_words(Axis axis) {
  return axis == Axis::kData ? "the backward pass of one micro-batch" : "the attention of one layer";
}

std::string hidden_reason(Axis axis, const AxisCost<>& cost, const AxisBandwidth& bandwidth,
                          const Estimate& best, Ratio<> contention) {
  const Seconds<> once = cost.once();
  const TimeEntry<>& step = best.time[time_term(axis)];
  std::string text = std::string(traffic_words(axis)) + " of " + format(bytes(cost.bytes)) + " takes " +
                     format(once) + (cost.group.hierarchical ? " tier by tier" : "") + " beside " +
                     window_words(axis) + ", " + format(cost.window) + ": ";
  if (!bandwidth.required) {
    text += "latency and the inner tiers alone exceed it, no bandwidth hides it";
  } else if (once <= cost.window) {
    text += "it fits under it";
  } else {
    text += format(once - cost.window) + " of it does not fit";
  }
  return text + "; of " + format(step.time) + " in the step " + format(step.exposed()) + " is felt" +
         (contention > ratio(0)
              ? ", as what runs beside compute slows it by " + format_percent(contention.raw())
              : "");
}

std::string exposed_reason(Axis axis, const AxisCost<>& cost, const AxisBandwidth& bandwidth,
                           const Estimate& best) {
  const Seconds<> all = best.time[time_term(axis)].exposed(), compute = compute_time(best.time);
  std::string text = std::string("nothing hides ") + traffic_words(axis) + ": " + format(bytes(cost.bytes)) +
                     " each time, " + format(cost.once()) + ", adds " + format(all) + ", " +
                     format_percent((all / compute).raw()) + " of compute; ";
  if (!bandwidth.required) {
    return text + "its latency alone is more than a tenth of compute";
  }
  return text + "it needs the bandwidth at which that is a tenth";
}

/// Why the axis stays where it is: the next tier does not have what it needs.
std::string next_tier_reason(const Cluster& cluster, std::size_t tier, const AxisBandwidth& bandwidth) {
  if (tier + 1 >= cluster.tiers.size() || !bandwidth.required) return "";
  const BytesPerSecond<> next = tier_bandwidth(cluster, tier + 1);
  if (next >= *bandwidth.required) return "";
  return "; tier " + cluster.tiers[tier + 1].name + " has " + format(next) + ", too little for it";
}

double per_sequence(const Estimate& e) { return e.step.raw() / static_cast<double>(e.plan.sequences()); }

/// The term that grows most from one plan to the other, each scaled to `sequences` of the first.
std::string largest_growth(const Estimate& from, const Estimate& to) {
  const double scale = per_sequence(to) / to.step.raw() * from.step.raw() / per_sequence(from);
  std::size_t grown = 0;
  double most = 0;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const double more = to.time.terms[i].exposed().raw() * scale - from.time.terms[i].exposed().raw();
    if (more <= most) continue;
    most = more;
    grown = i;
  }
  if (most <= 0) return "";
  return std::string(", mostly ") + name(static_cast<TimeTerm>(grown)) + " (+" + format(seconds(most)) + ")";
}

std::string illegal_reason(const Estimator& estimator, Plan plan, Axis axis) {
  const std::int64_t gpus = estimator.question().cluster.gpus;
  if (gpus == 1) return "there is one GPU";
  const auto smallest = static_cast<std::int32_t>(divisors(gpus)[1]);
  set_degree(plan, degree_of(axis), smallest);
  if (axis != Axis::kExpert && axis != Axis::kData && plan.dp % smallest == 0) plan.dp /= smallest;
  const auto violation = estimator.space().violation(plan);
  return "no legal plan uses it" + (violation ? ": " + violation->where : "");
}

/// Nothing where it was left free.
std::string told_reason(const FixedAxes& fixed, Axis axis) {
  if (fixed.told(degree_of(axis))) return "told to be 1";
  return fixed.bounds_of(degree_of(axis)).most == 1 ? "bounded to 1" : "";
}

std::string unused_reason(const Estimator& estimator, const FixedAxes& fixed, Axis axis,
                          const SearchResult& result, SearchWatch* watch) {
  const Estimate& best = *result.best;
  FixedAxes used = fixed;
  used.bounds_of(degree_of(axis)).least = std::max(2, fixed.bounds_of(degree_of(axis)).least);
  const auto known = std::find_if(result.runners_up.begin(), result.runners_up.end(),
                                  [&](const Estimate& e) { return degree(e.plan, axis) > 1; });
  const SearchResult with = fastest(
      estimator, used, known == result.runners_up.end() ? std::nullopt : std::optional(known->plan), watch);
  if (with.best) {
    return "the best plan with it, " + canonical(with.best->plan) + ", takes " + format(with.best->step) +
           ", " + format_number(per_sequence(*with.best) / per_sequence(best)) + " x the time" +
           largest_growth(best, *with.best);
  }
  if (const auto& miss = with.census.nearest_miss) {
    return "no plan with it fits; the closest, " + canonical(miss->plan) + ", is " + format(miss->shortfall) +
           " too large";
  }
  return illegal_reason(estimator, best.plan, axis);
}

}  // namespace

std::int64_t degree(const Plan& plan, Axis axis) { return degree_of(plan, degree_of(axis)); }

std::vector<AxisFinding> axis_findings(const Estimator& estimator, const Estimate& best) {
  const Cluster& cluster = estimator.question().cluster;
  std::vector<AxisFinding> findings;
  for (const Axis axis : kAxisOrder) {
    if (degree(best.plan, axis) <= 1) continue;
    const AxisCost<>& cost = best.time.axis(axis);
    if (cost.occurrences <= 0) continue;
    const bool hidden = hides(axis, cost);
    const Seconds<> budget =
        hidden ? cost.window : compute_time(best.time) * ratio(kExposedShare / cost.occurrences);
    const AxisBandwidth bandwidth = axis_bandwidth(cluster, cost, budget);
    const std::string reason =
        hidden ? hidden_reason(axis, cost, bandwidth, best, cluster.device.efficiency.contention.value)
               : exposed_reason(axis, cost, bandwidth, best);
    findings.push_back({name(axis), degree(best.plan, axis), cluster.tiers[cost.group.tier].name,
                        bandwidth.required, bandwidth.available,
                        reason + next_tier_reason(cluster, cost.group.tier, bandwidth)});
  }
  return findings;
}

UnusedAxes unused_axes(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                       SearchWatch* watch) {
  UnusedAxes unused;
  const auto left_free = [&](Axis axis) {
    return degree(result.best->plan, axis) <= 1 && told_reason(fixed, axis).empty();
  };
  WatchedItems items(watch, "unused axes", std::count_if(kAxisOrder.begin(), kAxisOrder.end(), left_free));
  for (const Axis axis : kAxisOrder) {
    if (degree(result.best->plan, axis) > 1) continue;
    std::string reason = told_reason(fixed, axis);
    if (left_free(axis) && items.next()) reason = unused_reason(estimator, fixed, axis, result, watch);
    if (left_free(axis) && stopped(watch)) {
      unused.left.emplace_back(name(axis));
    } else {
      unused.found.push_back({name(axis), std::move(reason)});
    }
  }
  return unused;
}

}  // namespace shardplan
