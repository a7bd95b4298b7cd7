// Values of the question at which the answer to serving is another one: the plan no longer serves, another
// one is the best, or what its time is made of turns over.
#include <algorithm>
#include <cmath>
#include <functional>

#include "reason/bisect.h"
#include "reason/inputs.h"
#include "reason/sentence.h"
#include "reason/serve_findings.h"
#include "reason/thresholds.h"
#include "search/serve_splits.h"
#include "units/format.h"

namespace shardplan {
namespace {

// How far a threshold of the load is looked for.
constexpr std::int64_t kLoadFactor = 64;

double d(std::int64_t v) { return static_cast<double>(v); }
std::string count(std::int64_t n) { return format_count(d(n)); }

/// A value of the load and how it is set.
struct Load {
  const char* parameter;
  const char* unit;
  std::int64_t now;
  std::function<void(ServeQuestion&, ServePlan&, std::int64_t)> set;
};

/// Each load then has a batch of its own, and a plan at its batch turns at once.
bool batch_is_searched(const ServeQuestion& q) { return !q.batch && q.goal != ServeGoal::kLatency; }

void set_input(ServeQuestion& q, double tokens) {
  q.input = tokens;
  q.question.workload.sequence = std::llround(q.input + q.output);
}
void set_output(ServeQuestion& q, double tokens) {
  q.output = tokens;
  q.question.workload.sequence = std::llround(q.input + q.output);
}

std::vector<Load> loads_of(const ServeQuestion& q, const ServePlan& p) {
  std::vector<Load> loads;
  const bool told = q.output > 0;
  loads.push_back({told ? "input" : "context", "tokens", std::llround(q.input),
                   [](ServeQuestion& other, ServePlan&, std::int64_t v) { set_input(other, d(v)); }});
  if (told) {
    loads.push_back({"output", "tokens", std::llround(q.output),
                     [](ServeQuestion& other, ServePlan&, std::int64_t v) { set_output(other, d(v)); }});
  }
  if (!q.rate) {
    loads.push_back({"batch", "sequences", p.batch,
                     [](ServeQuestion&, ServePlan& plan, std::int64_t v) { plan.batch = v; }});
  }
  return loads;
}

std::string limit_words(const ServeQuestion& q) {
  std::string words;
  if (q.tpot_limit) words += " within " + format(*q.tpot_limit) + " a token";
  if (q.ttft_limit)
    words += (words.empty() ? " within " : " and ") + format(*q.ttft_limit) + " to the first one";
  return words;
}

/// The first value of a load at which the plan serves no more, or serves.
std::optional<Threshold> load_threshold(const ServeQuestion& q, const ServePlan& p, const Load& load) {
  const bool good = p.good();
  const auto differs = [&](std::int64_t value) {
    ServeQuestion other = q;
    ServePlan plan = p;
    load.set(other, plan, value);
    return judged_again(other, plan).good() != good;
  };
  const auto at = bisect_integer(load.now, good ? kLoadFactor * load.now : 1, differs);
  if (!at) return std::nullopt;
  const std::string then =
      good ? "from it on " + serve_split_words(p.split) + " no longer serves" + limit_words(q)
           : "up to it " + serve_split_words(p.split) + " serves" + limit_words(q);
  return Threshold{load.parameter, d(load.now), d(*at), load.unit, then};
}

std::optional<Threshold> latency_threshold(const ServeQuestion& q, const ServePlan& p) {
  if (!q.tpot_limit || p.split.tensor == 1 || !p.good()) return std::nullopt;
  const std::size_t tier = p.cost.time.all_reduces.tier;
  const double now = q.question.cluster.tiers[tier].latency.value.raw();
  const auto at = most_latency(q, p);
  if (!at) return std::nullopt;
  return Threshold{tier == 0 ? "latency_intra_node" : "latency_inter_node", now, at->raw(), "s",
                   "up to it " + serve_split_words(p.split) + " keeps " + format(*q.tpot_limit) +
                       " at batch " + count(p.batch) + ", beyond it no longer"};
}

/// The batch from which on reading the cache takes longer than reading the weights.
std::optional<Threshold> cache_read_threshold(const ServeQuestion& q, const ServePlan& p) {
  const auto more = [&](std::int64_t batch) {
    ServePlan plan = p;
    plan.batch = batch;
    const TokenTime<> t = judged_again(q, plan).cost.time;
    return t.cache > t.weights;
  };
  constexpr std::int64_t kMost = 1 << 20;
  const bool now = more(p.batch);
  const auto at = now ? bisect_integer(1, p.batch, more) : bisect_integer(p.batch, kMost, more);
  if (!at) return std::nullopt;
  return Threshold{"batch_cache_read", d(p.batch), d(*at), "sequences",
                   "from it on reading the cache takes longer than reading the weights"};
}

/// The batch that the pool no longer holds.
std::optional<Threshold> pool_threshold(const ServePlan& p) {
  if (!p.fits) return std::nullopt;
  return Threshold{"batch_pool", d(p.batch), p.cost.room.requests.raw() + 1, "sequences",
                   "from it on the caches of the replica are more than its pool: requests wait"};
}

/// The tensor degree from which on twice as many GPUs make a token no tenth shorter.
std::optional<Threshold> tensor_threshold(const ServeQuestion& q, const ServeSearch& search) {
  const ServePlan& shown = search.best();
  const double felt = q.question.risk->felt.value.raw();
  ServeQuestion any = q;
  any.tensor = any.pipeline = any.data = std::nullopt;
  const ServePlan* last = nullptr;
  std::vector<ServePlan> plans;
  for (const ServeSplit& split : SplitRules(any).all()) {
    if (split.pipeline != shown.split.pipeline || split.data != shown.split.data) continue;
    plans.push_back(serve_plan(any, split, shown.batch, shown.prefill.has_value()));
  }
  for (const ServePlan& p : plans) {
    if (last != nullptr && p.split.tensor == 2 * last->split.tensor &&
        p.cost.tpot > last->cost.tpot * (1 - felt)) {
      Sentence then("beyond it twice as many GPUs make a token no ");
      then << stated_share("felt_share", felt) << " shorter: " << stated("before", last->cost.tpot) << " and "
           << stated("after", p.cost.tpot);
      return Threshold{"tp",         d(shown.split.tensor), d(last->split.tensor), "",
                       then.words(), std::nullopt,          then.figures()};
    }
    last = &p;
  }
  return std::nullopt;
}

/// What an engine takes by itself follows from the memory; what it was told stays.
void set_memory(ServeQuestion& q, double memory) {
  q.question.cluster.device.memory_reported.value = bytes(memory);
  if (q.limits.requests.source.kind != SourceKind::kUser)
    q.limits.requests = default_limits(q.memory, q.question.cluster.device).requests;
}

/// A number of the question that a search is repeated with.
struct Searched {
  std::string parameter;
  const char* unit;
  double now;
  std::function<void(ServeQuestion&, double)> set;
  bool whole = false;
};

std::vector<Searched> searched_of(const ServeQuestion& q) {
  std::vector<Searched> found;
  const Cluster& cluster = q.question.cluster;
  found.push_back({"hbm", "bytes", cluster.device.memory_reported.value.raw(), set_memory});
  found.push_back({"hbm_bandwidth", "bytes/s", cluster.device.memory_bandwidth.value.raw(),
                   [](ServeQuestion& other, double v) {
                     other.question.cluster.device.memory_bandwidth.value = bytes_per_s(v);
                   }});
  for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier) {
    found.push_back({"bandwidth_" + tier_name(cluster, tier), "bytes/s",
                     cluster.tiers[tier].bandwidth.value.raw(), [tier](ServeQuestion& other, double v) {
                       other.question.cluster.tiers[tier].bandwidth.value = bytes_per_s(v);
                     }});
  }
  if (batch_is_searched(q)) {
    found.push_back({"input", "tokens", q.input, set_input, true});
    if (q.output > 0) found.push_back({"output", "tokens", q.output, set_output, true});
  }
  if (q.rate) {
    found.push_back(
        {"rate", "1/s", q.rate->raw(), [](ServeQuestion& other, double v) { other.rate = per_s(v); }});
  }
  return found;
}

/// How many GPUs there are of a pair that fills the cluster is no choice; the fewest that carry a rate are.
bool same_choice(const ServeQuestion& q, const ServePlan& a, const ServePlan& b) {
  return a.good() == b.good() && a.split == b.split && a.prefill.has_value() == b.prefill.has_value() &&
         (q.goal != ServeGoal::kGpus || a.gpus() == b.gpus());
}

std::string choice_words(const ServePlan& p) {
  std::string words = p.good() ? serve_split_words(p.split) : "nothing serves";
  if (p.good()) words += " on " + counted(d(p.gpus()), "GPU");
  return words + (p.good() && p.prefill ? ", prompts apart" : "");
}

std::optional<double> turn_between(double no, double yes, bool whole,
                                   const std::function<bool(double)>& differs) {
  if (!whole) return bisect(no, yes, differs);
  const auto at =
      bisect_integer(std::llround(no), std::llround(yes), [&](std::int64_t v) { return differs(d(v)); });
  return at ? std::optional(d(*at)) : std::nullopt;
}

/// The nearest value, up or down, at which a search has another answer: in steps of `kStep`, then by halving.
std::optional<Threshold> searched_threshold(const ServeQuestion& q, const ServeSearch& search,
                                            const Searched& s) {
  constexpr double kStep = 1.25, kFarthest = 8;
  const auto at = [&](double value) {
    ServeQuestion other = q;
    s.set(other, value);
    return search_best(other);
  };
  const auto differs = [&](double value) { return !same_choice(q, at(value), search.best()); };
  double up = s.now, down = s.now;
  for (double factor = kStep; factor <= kFarthest; factor *= kStep) {
    for (const bool rising : {true, false}) {
      double& last = rising ? up : down;
      double next = rising ? s.now * factor : s.now / factor;
      if (s.whole) next = std::max(1.0, std::round(next));
      if (!differs(next)) {
        last = next;
        continue;
      }
      const auto turn = turn_between(last, next, s.whole, differs);
      if (!turn) continue;
      return Threshold{
          s.parameter, s.now, *turn, s.unit,
          std::string("then ") + choice_words(search.best()) + " becomes " + choice_words(at(*turn))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Threshold> serve_thresholds(const ServeQuestion& q, const ServeSearch& search) {
  const ServePlan& p = search.best();
  std::vector<Threshold> found;
  const auto add = [&](std::optional<Threshold> t) {
    if (t) found.push_back(std::move(*t));
  };
  add(latency_threshold(q, p));
  if (!batch_is_searched(q)) {
    for (const Load& load : loads_of(q, p)) add(load_threshold(q, p, load));
  }
  if (p.fits) {
    add(cache_read_threshold(q, p));
    if (!q.batch) add(pool_threshold(p));
    add(tensor_threshold(q, search));
  }
  for (const Searched& s : searched_of(q)) add(searched_threshold(q, search, s));
  sort_nearest_first(found);
  return found;
}

}  // namespace shardplan
