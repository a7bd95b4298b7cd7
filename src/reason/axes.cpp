#include "reason/axes.h"

#include <algorithm>

#include "estimate/axis_bandwidth.h"
#include "reason/sentence.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// An axis of the best plan, and what it was found to need.
struct Case {
  const Estimator& estimator;
  const Estimate& best;
  const PlanAxis& axis;
  const AxisCost<>& cost;
  std::vector<AxisLink> links;
  std::size_t main = 0;  // of the links: the one that sets the pace

  const Cluster& cluster() const { return estimator.question().cluster; }
  bool hides() const { return shardplan::hides(best.time, axis.traffic); }
  const AxisLink& link() const { return links[main]; }
};

std::string words_of(const Case& c) {
  if (c.axis.traffic == AxisTraffic::kGather) return "weights that are gathered";
  for (std::size_t i = 0; i < kAxisCount; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (&c.best.time.axis(axis) == &c.cost) return traffic_words(axis);
  }
  return "?";
}

const char* window_words(AxisTraffic traffic) {
  switch (traffic) {
    case AxisTraffic::kData:
      return "the backward pass of one micro-batch";
    case AxisTraffic::kGather:
      return "the forward pass of one micro-batch";
    default:
      return "the attention of one layer";
  }
}

Sentence hidden_reason(const Case& c) {
  const Seconds<> once = c.cost.once();
  const TimeEntry<>& step = c.best.time[term_of(c.axis.traffic)];
  const Ratio<> contention = c.cluster().device.efficiency.contention.value;
  Sentence s(words_of(c) + ", ");
  s << stated("bytes", bytes(c.cost.bytes)) << " each time, ";
  s << (c.cost.group.hierarchical ? "take tier by tier " : "take ") << stated("once", once);
  s << " beside " << window_words(c.axis.traffic) << ", " << stated("window", c.cost.window);
  if (once <= c.cost.window) {
    s << ": they fit under it";
  } else {
    s << ": " << stated("beyond_window", once - c.cost.window) << " do not fit";
  }
  // The term of data parallelism holds both directions of ZeRO: it is told once.
  if (c.axis.traffic == AxisTraffic::kGather) return s;
  s << "; of " << stated("in_step", step.time) << " in the step ";
  s << stated("felt", step.exposed()) << " are felt";
  if (contention > ratio(0))
    s << ", as what runs beside compute slows it by " << stated_share("contention", contention);
  return s;
}

Sentence exposed_reason(const Case& c) {
  const TimeEntry<>& step = c.best.time[term_of(c.axis.traffic)];
  const Seconds<> felt = felt_of(c.best.time, c.axis.traffic), compute = compute_time(c.best.time);
  Sentence s;
  const bool partly = step.hidden > seconds(0) && c.axis.traffic != AxisTraffic::kData &&
                      c.axis.traffic != AxisTraffic::kGather;
  if (partly) {
    s << "of " << stated("in_step", step.time) << " of " + words_of(c) + " ";
    s << stated("hidden", step.hidden) << " run beside other work, nothing hides the rest: ";
  } else {
    s << "nothing hides " + words_of(c) + ": ";
  }
  s << stated("bytes", bytes(c.cost.bytes)) << " each time, " << stated("once", c.cost.once());
  s << ", add " << stated("felt", felt) << ", " << stated_share("of_compute", felt / compute)
    << " of compute";
  return s << "; the bandwidth it needs is that at which they are "
           << stated_share("share_allowed", ratio(kExposedShare));
}

/// The bandwidths: of the tier that matters most, then of the others that it crosses.
void add_links(const Case& c, Sentence& s) {
  if (!c.link().required) {
    s << "; no bandwidth of the " + c.cluster().tiers[c.link().tier].name +
             " is enough: latency and what else it crosses are too much alone";
  }
  for (std::size_t i = 0; i < c.links.size(); ++i) {
    if (i == c.main) continue;
    const AxisLink& link = c.links[i];
    const std::string tier = c.cluster().tiers[link.tier].name;
    if (link.required) {
      s << "; of the " + tier + "'s " << stated("also_has", link.available) << " it needs ";
      s << stated_need("also_needs", *link.required);
    } else {
      s << "; more than the " + tier + "'s " << stated("also_has", link.available) << " alone does not do";
    }
  }
}

/// Why the axis stays where it is: the next tier does not have what it needs.
void add_next_tier(const Case& c, Sentence& s) {
  const std::size_t next = c.cost.group.tier + 1;
  if (next >= c.cluster().tiers.size() || !c.link().required || c.link().tier + 1 != next) return;
  const BytesPerSecond<> has = tier_bandwidth(c.cluster(), next);
  if (has >= *c.link().required) return;
  s << "; the " + c.cluster().tiers[next].name + " has " << stated("next_tier_has", has)
    << ", too little for it";
}

/// What ZeRO is for.
Sentence memory_reason(const Case& c) {
  const Plan& plan = c.best.plan;
  Sentence s("stage ");
  s << stated_count("stage", std::int64_t{plan.zero_stage}) << " over ";
  s << stated_count("ranks", std::int64_t{degree_of(plan, Degree::kShardGroup)}) << " ranks";
  Plan without = plan;
  without.zero_stage = 0;
  without.shard_group = 0;
  if (c.estimator.space().first_broken(without)) return s << "; ";
  int stage = 0;
  const Bytes<> total = c.estimator.fullest_memory<double>(without, stage).total();
  s << ": the fullest GPU keeps " << stated("memory", c.best.memory.total());
  return s << ", without it " << stated("memory_without", total) << " of " << stated("usable", c.best.usable)
           << " usable; ";
}

/// The link that the collective waits for or, where no bandwidth of it is enough, one of which some is.
std::size_t pacing(const Case& c) {
  std::size_t main = 0;
  for (std::size_t i = 0; i < c.links.size(); ++i)
    if (c.links[i].tier <= c.cost.group.paced_by) main = i;
  for (std::size_t i = 0; i < c.links.size(); ++i)
    if (!c.links[main].required && c.links[i].required) main = i;
  return main;
}

AxisFinding finding(const Case& c) {
  Sentence s;
  if (c.axis.degree == Degree::kZero) s = memory_reason(c);
  s << (c.hides() ? hidden_reason(c) : exposed_reason(c));
  add_links(c, s);
  add_next_tier(c, s);
  const std::vector<Tier>& tiers = c.cluster().tiers;
  const Degree counted = c.axis.degree == Degree::kZero ? Degree::kShardGroup : c.axis.degree;
  AxisFinding found{c.axis.name,
                    degree_of(c.best.plan, counted),
                    tiers[c.link().tier].name,
                    c.link().required,
                    c.link().available,
                    s.words()};
  found.spans = tiers[c.cost.group.tier].name;
  found.hides = c.hides();
  for (const AxisLink& link : c.links)
    found.links.push_back({tiers[link.tier].name, link.required, link.available});
  found.figures = s.figures();
  // As it is printed: what is needed is not rounded down.
  if (found.required_bandwidth)
    found.figures.push_back({"required", rounded_up(*found.required_bandwidth).raw(), "bytes/s"});
  return found;
}

}  // namespace

std::vector<AxisFinding> axis_findings(const Estimator& estimator, const Estimate& best) {
  std::vector<AxisFinding> findings;
  for (const PlanAxis& axis : kPlanAxes) {
    const AxisCost<>& cost = cost_of(best.time, axis.traffic);
    if (!uses(best.plan, axis) || cost.occurrences <= 0) continue;
    Case c{estimator, best, axis, cost, axis_links(estimator, best.plan, axis.traffic)};
    if (c.links.empty()) continue;
    c.main = pacing(c);
    findings.push_back(finding(c));
  }
  return findings;
}

}  // namespace shardplan
