// What each axis of a way to serve needs of its links, and what the degrees that it does not use would cost.
#include <algorithm>
#include <array>
#include <functional>

#include "estimate/tier_bandwidth.h"
#include "reason/axes.h"
#include "reason/bisect.h"
#include "reason/judged_by.h"
#include "reason/serve_findings.h"
#include "reason/time_groups.h"
#include "search/serve_splits.h"

namespace shardplan {
namespace {

const RiskFigures& risk(const ServeQuestion& q) { return *q.question.risk; }

/// Of a token: guesses that hold share a step's all-reduces.
Seconds<> reduces_of(const ServePlan& p) {
  const TokenTime<>& t = p.cost.time;
  return t.all_reduces.total() / t.accepted;
}
Seconds<> rest_of_token(const ServePlan& p) { return p.cost.tpot - reduces_of(p); }

/// Nothing hides the all-reduces of a token. They are short enough where the token is within its limit or,
/// where none is told, where they add little to the rest of it.
bool short_enough(const ServeQuestion& q, const ServePlan& p) {
  if (q.tpot_limit) return p.meets;
  return reduces_of(p) <= rest_of_token(p) * risk(q).exposed.value;
}

ServePlan with_bandwidth(const ServeQuestion& q, const ServePlan& plan, std::size_t tier, double factor) {
  ServeQuestion other = q;
  Sourced<BytesPerSecond<>>& bandwidth = other.question.cluster.tiers[tier].bandwidth;
  bandwidth.value = bandwidth.value * ratio(factor);
  return judged_again(other, plan);
}

/// None under tp 1.
std::vector<AxisLink> all_reduce_links(const ServeQuestion& q, const ServePlan& p) {
  std::vector<AxisLink> links;
  if (p.split.tensor == 1) return links;
  for (std::size_t tier = 0; tier <= p.cost.time.all_reduces.tier; ++tier) {
    const auto with = [&](double factor) { return with_bandwidth(q, p, tier, factor); };
    if (reduces_of(with(kLeastFactor)) == reduces_of(p)) continue;  // no ranks meet there
    AxisLink link{tier, tier_bandwidth(q.question.cluster, tier), std::nullopt, {}};
    if (const auto factor = least_factor([&](double f) { return short_enough(q, with(f)); })) {
      link.required = link.available * ratio(*factor);
    } else {
      link.felt_at_most = reduces_of(with(kMostFactor));
    }
    links.push_back(link);
  }
  return links;
}

Sentence tensor_said(const ServeQuestion& q, const ServePlan& p) {
  const AllReduces<>& reduces = p.cost.time.all_reduces;
  Sentence s("nothing hides the all-reduces of a token: ");
  s << stated_count("all_reduces", reduces.count.raw()) << " of " << stated("message", reduces.message)
    << ", " << stated("once", reduces.one.total()) << " each, take " << stated("felt", reduces_of(p)) << ", "
    << stated_share("of_token", reduces_of(p) / p.cost.tpot) << " of it";
  if (q.tpot_limit) {
    s << " and " << stated_share("of_limit", reduces_of(p) / *q.tpot_limit) << " of the limit";
    s << "; the bandwidth they need is that at which the limit of " << stated("limit", *q.tpot_limit)
      << " is just kept";
  } else {
    s << "; the bandwidth they need is that at which they add " << stated_risk(risk(q), &RiskFigures::exposed)
      << " to the rest of it, " << stated("rest_of_token", rest_of_token(p));
  }
  if (const auto latency = most_latency(q, p)) {
    const Tier& tier = q.question.cluster.tiers[reduces.tier];
    s << ", as is the case with up to " << stated("most_latency", *latency)
      << " of latency a step over " + tier.name << ", which has " << stated("latency", tier.latency.value);
  }
  return s;
}

AxisFinding tensor_axis(const ServeQuestion& q, const ServePlan& p, const std::vector<AxisLink>& links) {
  const AxisLink& main = links[pacing(links, p.cost.time.all_reduces.paced_by)];
  const std::vector<Tier>& tiers = q.question.cluster.tiers;
  Sentence s = tensor_said(q, p);
  add_links(q.question.cluster, links, main, s);
  AxisFinding found{"tp", p.split.tensor, tiers[main.tier].name, main.required, main.available, s.words()};
  found.spans = tiers[p.cost.time.all_reduces.tier].name;
  found.required_for = q.tpot_limit ? "tpot_limit" : "share_of_token";
  found.figures = s.figures();
  keep_links(q.question.cluster, links, found);
  return found;
}

AxisFinding outer_axis(const ServeQuestion& q, const char* axis, std::int64_t degree, const Sentence& said) {
  const Cluster& cluster = q.question.cluster;
  const std::size_t outermost = cluster.tiers.size() - 1;
  AxisFinding found{
      axis,        degree, cluster.tiers[outermost].name, std::nullopt, tier_bandwidth(cluster, outermost),
      said.words()};
  found.figures = said.figures();
  return found;
}

AxisFinding replica_axis(const ServeQuestion& q, const ServePlan& p) {
  Sentence s("replicas exchange nothing: each has weights of its own, ");
  s << stated("weights", p.cost.memory.total_weights() * static_cast<double>(p.split.gpus()))
    << ", and decodes " << stated_counted("batch", p.batch, "sequence") << "; together they make "
    << stated("output", p.tokens());
  AxisFinding found = outer_axis(q, "dp", p.replicas, s);
  found.required_bandwidth = bytes_per_s(0);
  found.required_for = "hidden";
  return found;
}

AxisFinding pipeline_axis(const ServeQuestion& q, const ServePlan& p) {
  Sentence s(
      "a token passes every stage: stages divide weights and cache, not its time; the sends between them take ");
  s << stated("sends", p.cost.time.sends) << " of its " << stated("token", p.cost.tpot);
  return outer_axis(q, "pp", p.split.pipeline, s);
}

AxisFinding expert_axis(const ServeQuestion& q, const ServePlan& p) {
  const TokenTime<>& t = p.cost.time;
  Sentence s;
  if (p.split.data > 1) {
    s << stated_counted("groups", p.split.data, "group")
      << " of attention have requests of their own; experts are over "
      << stated_counted("gpus", p.split.stage_gpus(), "GPU", "s", "GPUs") << ", and nothing hides the "
      << stated("felt", t.exchange / t.accepted)
      << " of a token in which tokens go to their experts and back, "
      << stated_share("of_token", t.exchange / t.accepted / p.cost.tpot) << " of it";
  } else {
    s << "experts stay whole, as their widths cannot be cut ";
    s << stated_count("ranks", p.split.tensor) << " ways; all-reduces bring their parts together";
  }
  return outer_axis(q, "ep", p.plan.ep, s);
}

AxisFinding prefill_axis(const ServeQuestion& q, const ServePlan& p) {
  const PrefillPool& pool = *p.prefill;
  Sentence s;
  s << stated_counted("replicas", pool.replicas, "replica") << " of tp "
    << stated_count("tensor", pool.split.tensor) << " compute prompts, busy "
    << stated_share("busy", pool.busy) << " of the time; the cache of a prompt, "
    << stated("cache", pool.cost.memory.request) << " on each of their GPUs, takes "
    << stated("transfer", pool.cost.transfer) << " to the replica that decodes";
  return outer_axis(q, "prefill", pool.replicas, s);
}

/// The part of a token that grows most from one way to another.
void add_largest_growth(const ServePlan& from, const ServePlan& to, Sentence& s) {
  const auto parts = [](const ServeCost<>& c) {
    const TokenTime<>& t = c.time;
    return std::array{std::pair{"weights and products", max(t.weights, t.products)},
                      std::pair{"reading the cache", t.cache},
                      std::pair{"hidden vectors", t.traffic},
                      std::pair{"latency of all-reduces", t.all_reduces.latency()},
                      std::pair{"bytes of all-reduces", t.all_reduces.content()},
                      std::pair{"tokens to experts", t.exchange},
                      std::pair{"sends between stages", t.sends},
                      std::pair{"other requests' prompts", c.tpot - t.step_token()}};
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

/// What a way to serve that is not taken would cost.
Sentence other_way(const ServeQuestion& q, const ServePlan& shown, const ServePlan& other, Sentence s) {
  const ServeCost<>& c = other.cost;
  if (!other.fits) {
    const Bytes<> room = c.memory.total_weights() + c.room.pool;
    return s << " does not fit: weights and cache are " << stated("memory", c.held()) << " on each GPU of "
             << stated("usable", room) << " that are left for them, " << stated("shortfall", c.held() - room)
             << " too much";
  }
  s << " takes " << stated("token", c.tpot) << " a token";
  if (other.batch != shown.batch)
    s << " with " << stated_counted("batch", other.batch, "request") << " at once";
  if (shown.fits) {
    s << ", " << times_said(stated("times", c.tpot / shown.cost.tpot), "time");
    add_largest_growth(shown, other, s);
    s << ", and makes "
      << times_said(stated("times_output", other.tokens_per_gpu() / shown.tokens_per_gpu()),
                    "tokens of a GPU");
  }
  if (q.tpot_limit && c.tpot > *q.tpot_limit)
    s << "; it misses the limit by " << stated("over", c.tpot - *q.tpot_limit);
  if (q.ttft_limit && other.ttft > *q.ttft_limit)
    s << "; its first token is " << stated("over_first", other.ttft - *q.ttft_limit) << " too late";
  return s;
}

UnusedAxis unused(const char* axis, const ServePlan& other, const Sentence& s) {
  return {axis, s.words(), other.plan, s.figures()};
}

/// Of the splits that have a part of another degree the best.
const ServePlan* best_with(const ServeQuestion& q, const std::vector<ServePlan>& plans,
                           const std::function<bool(const ServePlan&)>& has) {
  const ServePlan* best = nullptr;
  for (const ServePlan& p : plans) {
    if (has(p) && (best == nullptr || better(q, p, *best))) best = &p;
  }
  return best;
}

}  // namespace

std::optional<Seconds<>> most_latency(const ServeQuestion& q, const ServePlan& p) {
  // How far it is looked for.
  constexpr double kLatencyFactor = 100;
  const std::size_t tier = p.cost.time.all_reduces.tier;
  const double now = q.question.cluster.tiers[tier].latency.value.raw();
  const auto at = bisect(now, kLatencyFactor * now, [&](double latency) {
    ServeQuestion other = q;
    other.question.cluster.tiers[tier].latency.value = seconds(latency);
    return !short_enough(other, judged_again(other, p));
  });
  return at ? std::optional(std::max(rounded_down(seconds(*at)), seconds(now))) : std::nullopt;
}

std::vector<AxisFinding> serve_axes(const ServeQuestion& q, const ServePlan& p) {
  std::vector<AxisFinding> found;
  if (!p.fits) return found;
  if (p.replicas > 1) found.push_back(replica_axis(q, p));
  const std::vector<AxisLink> links = as_printed(all_reduce_links(q, p));
  if (!links.empty()) found.push_back(tensor_axis(q, p, links));
  if (p.split.pipeline > 1) found.push_back(pipeline_axis(q, p));
  if (p.plan.ep > 1) found.push_back(expert_axis(q, p));
  if (p.prefill) found.push_back(prefill_axis(q, p));
  return found;
}

std::vector<UnusedAxis> serve_unused_axes(const ServeQuestion& q, const ServeSearch& search) {
  const ServePlan& p = search.best();
  std::vector<UnusedAxis> found;
  ServeQuestion any = q;
  any.tensor = any.pipeline = any.data = std::nullopt;
  any.place = PromptPlace::kTogether;
  // Cheap, so also where a degree was told.
  std::vector<ServePlan> plans;
  for (const ServeSplit& split : SplitRules(any).all()) plans.push_back(best_of_split(any, split));
  for (const ServePlan& other : plans) {
    if (other.split.tensor == p.split.tensor || other.split.pipeline != p.split.pipeline ||
        other.split.data != p.split.data)
      continue;
    Sentence s("degree ");
    s << stated_count("degree", other.split.tensor);
    found.push_back(unused("tp", other, other_way(q, p, other, s)));
  }
  if (p.replicas == 1)
    found.push_back({"dp", "the replica has every GPU; more replicas are those of the lower degrees of tp"});
  const auto add_best = [&](const char* axis, const std::function<bool(const ServePlan&)>& has,
                            const char* none) {
    const ServePlan* best = best_with(q, plans, has);
    if (best == nullptr) {
      found.push_back({axis, none});
      return;
    }
    Sentence s("the best split with it, ");
    s << std::string(serve_split_words(best->split)) + ",";
    found.push_back(unused(axis, *best, other_way(q, p, *best, s)));
  };
  if (p.split.pipeline == 1)
    add_best(
        "pp", [](const ServePlan& o) { return o.split.pipeline > 1; },
        "no number of stages divides the GPUs");
  found.push_back({"cp", "no plan that serves uses it: a cache over several ranks is not modelled"});
  const ServeShape shape(q.question.model, {}, q.format);
  if (p.split.data == 1) {
    add_best(
        "ep", [](const ServePlan& o) { return o.split.data > 1; },
        shape.experts > 0 ? "no groups of attention divide the experts and the GPUs"
                          : "no plan that serves uses it: the model has no experts");
  }
  return found;
}

}  // namespace shardplan
