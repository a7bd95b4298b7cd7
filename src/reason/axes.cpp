#include "reason/axes.h"

#include <algorithm>

#include "estimate/tier_bandwidth.h"
#include "reason/bisect.h"
#include "reason/judged_by.h"
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

// Where a sequence is spread over ranks but the batch is not, gradients are reduced all the same.
constexpr const char *kReplicas = "dp", *kReplicasOfRanks = "dp\u00b7cp";

bool moves_bytes(const Plan& plan, const PlanAxis& axis) {
  return axis.traffic == AxisTraffic::kData ? plan.replicas() > 1 : uses(plan, axis);
}

/// What it moves; of gradients over which ranks, where those are not the replicas alone.
Sentence traffic_said(const Case& c) {
  Sentence s(words_of(c.axis.traffic));
  const Plan& plan = c.best.plan;
  if (c.axis.traffic != AxisTraffic::kData || plan.cp == 1) return s;
  return s << " over dp " << stated_count("dp", plan.dp) << " x cp " << stated_count("cp", plan.cp) << " = "
           << stated_count("ranks", plan.replicas()) << " ranks";
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
  Sentence s = traffic_said(c);
  s << ", " << stated("bytes", bytes(c.cost.bytes)) << " each time, ";
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
    s << "of " << stated("in_step", step.time) << " of " << traffic_said(c) << " ";
    s << stated("hidden", step.hidden) << " run beside other work, nothing hides the rest: ";
  } else {
    s << "nothing hides " << traffic_said(c) << ": ";
  }
  s << stated("bytes", bytes(c.cost.bytes)) << " each time, " << stated("once", c.cost.once());
  s << ", add " << stated("felt", felt) << ", " << stated_share("of_compute", felt / compute)
    << " of compute";
  return s << "; the bandwidth it needs is that at which they are "
           << stated_risk(*c.estimator.question().risk, &RiskFigures::exposed);
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

AxisFinding finding(const Case& c) {
  Sentence s;
  if (c.axis.degree == Degree::kZero) s = memory_reason(c);
  s << (c.hides() ? hidden_reason(c) : exposed_reason(c));
  add_links(c.cluster(), c.links, c.link(), s);
  add_next_tier(c, s);
  const std::vector<Tier>& tiers = c.cluster().tiers;
  const Degree counted = c.axis.degree == Degree::kZero ? Degree::kShardGroup : c.axis.degree;
  const bool of_ranks = c.axis.traffic == AxisTraffic::kData && c.best.plan.dp == 1;
  AxisFinding found{of_ranks ? kReplicasOfRanks : c.axis.name,
                    of_ranks ? c.best.plan.replicas() : degree_of(c.best.plan, counted),
                    tiers[c.link().tier].name,
                    c.link().required,
                    c.link().available,
                    s.words()};
  found.spans = tiers[c.cost.group.tier].name;
  found.required_for = c.hides() ? "hidden" : "share_of_compute";
  found.figures = s.figures();
  keep_links(c.cluster(), c.links, found);
  return found;
}

}  // namespace

std::size_t pacing(std::span<const AxisLink> links, std::size_t paced_by) {
  std::size_t main = 0;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i].tier <= paced_by) main = i;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i].turns_at() < links[main].turns_at()) main = i;
  return main;
}

std::vector<AxisLink> as_printed(std::vector<AxisLink> links) {
  for (AxisLink& link : links)
    if (link.required) link.required = rounded_up(*link.required);
  return links;
}

void add_links(const Cluster& cluster, std::span<const AxisLink> links, const AxisLink& main, Sentence& s) {
  if (!main.required) {
    s << "; no bandwidth of the " + cluster.tiers[main.tier].name + " alone is enough: with ";
    s << stated_count("times_bandwidth", kMostFactor) << " times as much, "
      << stated("felt_with_most", main.felt_at_most) << " are felt still";
  }
  for (const AxisLink& link : links) {
    if (link.tier == main.tier) continue;
    const std::string tier = cluster.tiers[link.tier].name;
    if (link.required) {
      s << "; of the " + tier + "'s " << stated("also_has", link.available) << " it needs ";
      s << stated("also_needs", *link.required);
    } else {
      s << "; more than the " + tier + "'s " << stated("also_has", link.available) << " alone does not do";
    }
  }
}

void keep_links(const Cluster& cluster, std::span<const AxisLink> links, AxisFinding& found) {
  for (const AxisLink& link : links)
    found.links.push_back({cluster.tiers[link.tier].name, link.required, link.available});
  if (found.required_bandwidth)
    found.figures.push_back({"required", found.required_bandwidth->raw(), "bytes/s"});
}

std::string words_of(AxisTraffic traffic) {
  return traffic == AxisTraffic::kGather ? "weights that are gathered" : traffic_words(axis_of(traffic));
}

const AxisFinding* gradient_reduction(std::span<const AxisFinding> findings) {
  const auto at = std::find_if(findings.begin(), findings.end(), [](const AxisFinding& x) {
    return x.axis == kReplicas || x.axis == kReplicasOfRanks;
  });
  return at == findings.end() ? nullptr : &*at;
}

std::vector<AxisFinding> axis_findings(const Estimator& estimator, const Estimate& best) {
  std::vector<AxisFinding> findings;
  for (const PlanAxis& axis : kPlanAxes) {
    const AxisCost<>& cost = cost_of(best.time, axis.traffic);
    if (!moves_bytes(best.plan, axis) || cost.occurrences <= 0) continue;
    Case c{estimator, best, axis, cost, as_printed(axis_links(estimator, best.plan, axis.traffic))};
    if (c.links.empty()) continue;
    c.main = pacing(c.links, cost.group.paced_by);
    findings.push_back(finding(c));
  }
  return findings;
}

}  // namespace shardplan
