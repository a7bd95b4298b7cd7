// What each axis of a way to serve needs of its links, and what the degrees that it does not use would cost.
#include <algorithm>
#include <array>

#include "estimate/tier_bandwidth.h"
#include "reason/axes.h"
#include "reason/bisect.h"
#include "reason/judged_by.h"
#include "reason/serve_findings.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

const RiskFigures& risk(const ServeQuestion& q) { return *q.question.risk; }

Seconds<> rest_of_token(const ServePlan& p) { return p.cost.step() - p.cost.communication(); }

/// Nothing hides the all-reduces of a token. They are short enough where the token is within its limit or,
/// where none is told, where they add little to the rest of it.
bool short_enough(const ServeQuestion& q, const ServePlan& p) {
  if (q.tpot_limit) return p.meets;
  return p.cost.communication() <= rest_of_token(p) * risk(q).exposed.value;
}

ServePlan with_bandwidth(const ServeQuestion& q, const Plan& plan, std::size_t tier, double factor) {
  ServeQuestion other = q;
  Sourced<BytesPerSecond<>>& bandwidth = other.question.cluster.tiers[tier].bandwidth;
  bandwidth.value = bandwidth.value * ratio(factor);
  return serve_plan(other, plan);
}

/// None under tp 1.
std::vector<AxisLink> all_reduce_links(const ServeQuestion& q, const ServePlan& p) {
  std::vector<AxisLink> links;
  for (std::size_t tier = 0; tier <= p.cost.all_reduce.tier; ++tier) {
    const auto with = [&](double factor) { return with_bandwidth(q, p.plan, tier, factor); };
    if (with(kLeastFactor).cost.communication() == p.cost.communication()) continue;  // no ranks meet there
    AxisLink link{tier, tier_bandwidth(q.question.cluster, tier), std::nullopt, {}};
    if (const auto factor = least_factor([&](double f) { return short_enough(q, with(f)); })) {
      link.required = link.available * ratio(*factor);
    } else {
      link.felt_at_most = with(kMostFactor).cost.communication();
    }
    links.push_back(link);
  }
  return links;
}

Sentence tensor_said(const ServeQuestion& q, const ServePlan& p) {
  const DecodeCost<>& c = p.cost;
  Sentence s("nothing hides the all-reduces of a token: ");
  s << stated_count("all_reduces", c.all_reduces.raw()) << " of " << stated("message", c.message) << ", "
    << stated("once", c.all_reduce.cost.total()) << " each, take " << stated("felt", c.communication())
    << ", " << stated_share("of_token", c.communication() / c.step()) << " of it";
  if (q.tpot_limit) {
    s << "; the bandwidth they need is that at which the limit of " << stated("limit", *q.tpot_limit)
      << " is just kept";
  } else {
    s << "; the bandwidth they need is that at which they add " << stated_risk(risk(q), &RiskFigures::exposed)
      << " to the rest of it, " << stated("rest_of_token", rest_of_token(p));
  }
  if (const auto latency = most_latency(q, p)) {
    const Tier& tier = q.question.cluster.tiers[c.all_reduce.tier];
    s << ", as is the case with up to " << stated("most_latency", *latency)
      << " of latency a step over " + tier.name << ", which has " << stated("latency", tier.latency.value);
  }
  return s;
}

AxisFinding tensor_axis(const ServeQuestion& q, const ServePlan& p, const std::vector<AxisLink>& links) {
  const AxisLink& main = links[pacing(links, p.cost.all_reduce.paced_by)];
  const std::vector<Tier>& tiers = q.question.cluster.tiers;
  Sentence s = tensor_said(q, p);
  add_links(q.question.cluster, links, main, s);
  AxisFinding found{"tp", p.plan.tp, tiers[main.tier].name, main.required, main.available, s.words()};
  found.spans = tiers[p.cost.all_reduce.tier].name;
  found.required_for = q.tpot_limit ? "tpot_limit" : "share_of_token";
  found.figures = s.figures();
  keep_links(q.question.cluster, links, found);
  return found;
}

AxisFinding replica_axis(const ServeQuestion& q, const ServePlan& p) {
  Sentence s("replicas exchange nothing: each has weights of its own, ");
  s << stated("weights", p.cost.weights) << ", and decodes " << stated_counted("batch", q.batch, "sequence")
    << "; together they make " << stated("output", p.cost.throughput * static_cast<double>(p.plan.dp));
  const Cluster& cluster = q.question.cluster;
  const std::size_t outermost = cluster.tiers.size() - 1;
  AxisFinding found{
      "dp",     p.plan.dp, cluster.tiers[outermost].name, bytes_per_s(0), tier_bandwidth(cluster, outermost),
      s.words()};
  found.required_for = "hidden";
  found.figures = s.figures();
  return found;
}

/// The part of a token that grows most from one way to another.
void add_largest_growth(const ServePlan& from, const ServePlan& to, Sentence& s) {
  const auto parts = [](const DecodeCost<>& c) {
    return std::array{std::pair{"weights and products", c.products()},
                      std::pair{"reading the cache", c.kv_read},
                      std::pair{"latency of all-reduces", c.all_reduces * c.all_reduce.cost.latency_term},
                      std::pair{"bytes of all-reduces", c.all_reduces * c.all_reduce.cost.bandwidth_term}};
  };
  const auto before = parts(from.cost), after = parts(to.cost);
  std::size_t grown = 0;
  Seconds<> most = seconds(0);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].second - before[i].second <= most) continue;
    most = after[i].second - before[i].second;
    grown = i;
  }
  if (most > seconds(0))
    s << std::string(", mostly ") + after[grown].first + " (+" << stated("largest_growth", most) << ")";
}

/// "1.2 x the time"; "the same time" where that is what it is as printed.
Sentence times_said(const Stated& times, const std::string& what) {
  if (times.text == "1") return Sentence("the same " + what);
  Sentence s;
  s << times;
  return s << " x the " << what;
}

UnusedAxis other_degree(const ServeQuestion& q, const ServePlan& shown, const ServePlan& other) {
  Sentence s("degree ");
  s << stated_count("degree", std::int64_t{other.plan.tp});
  const DecodeCost<>& c = other.cost;
  if (!other.fits) {
    s << " does not fit: " << stated("memory", c.memory()) << " on each GPU of " << stated("usable", c.usable)
      << " usable, " << stated("shortfall", c.memory() - c.usable) << " too much";
  } else {
    s << " takes " << stated("token", c.step()) << " a token";
    if (shown.fits) {
      s << ", " << times_said(stated("times", c.step() / shown.cost.step()), "time");
      add_largest_growth(shown, other, s);
      s << ", and makes "
        << times_said(stated("times_output", other.tokens_per_gpu() / shown.tokens_per_gpu()),
                      "tokens of a GPU");
    }
    if (!other.meets) {
      s << "; it misses the limit by " << stated("over", c.step() - *q.tpot_limit);
    }
  }
  return {"tp", s.words(), other.plan, s.figures()};
}

}  // namespace

std::optional<Seconds<>> most_latency(const ServeQuestion& q, const ServePlan& p) {
  // How far it is looked for.
  constexpr double kLatencyFactor = 100;
  const std::size_t tier = p.cost.all_reduce.tier;
  const double now = q.question.cluster.tiers[tier].latency.value.raw();
  const auto at = bisect(now, kLatencyFactor * now, [&](double latency) {
    ServeQuestion other = q;
    other.question.cluster.tiers[tier].latency.value = seconds(latency);
    return !short_enough(other, serve_plan(other, p.plan));
  });
  return at ? std::optional(std::max(rounded_down(seconds(*at)), seconds(now))) : std::nullopt;
}

std::vector<AxisFinding> serve_axes(const ServeQuestion& q, const ServePlan& p) {
  std::vector<AxisFinding> found;
  if (!p.fits) return found;
  if (p.plan.dp > 1) found.push_back(replica_axis(q, p));
  const std::vector<AxisLink> links = as_printed(all_reduce_links(q, p));
  if (!links.empty()) found.push_back(tensor_axis(q, p, links));
  return found;
}

std::vector<UnusedAxis> serve_unused_axes(const ServeQuestion& q, const ServePlan& p) {
  std::vector<UnusedAxis> found;
  FixedAxes any = q.question.fixed;
  any.tp = std::nullopt;
  // Cheap, so also where a degree was told.
  Space(q.question).for_each(any, [&](const Plan& plan) {
    if (plan.tp != p.plan.tp) found.push_back(other_degree(q, p, serve_plan(q, plan)));
  });
  if (p.plan.dp == 1) {
    found.push_back({"dp", "the replica has every GPU; more replicas are those of the lower degrees of tp"});
  }
  found.push_back({"pp", "no plan that serves uses it: pipeline stages in serving are not modelled"});
  found.push_back({"cp", "no plan that serves uses it: a cache over several ranks is not modelled"});
  found.push_back({"ep", "no plan that serves uses it: the model has no experts"});
  return found;
}

}  // namespace shardplan
