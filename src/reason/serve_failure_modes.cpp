// What can go wrong with a way to serve that the formulas call good, and where it has arrived.
#include <algorithm>
#include <array>

#include "reason/failure_kinds.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

struct Case {
  const ServeQuestion& q;
  const ServePlan& p;
  const DecodeCost<>& cost() const { return p.cost; }
  const RiskFigures& risk() const { return *q.question.risk; }
  /// By how much a token may become longer: up to its limit, or by what is felt where none is told.
  bool limited() const { return q.tpot_limit && p.meets; }
  Seconds<> room() const {
    return limited() ? *q.tpot_limit - p.cost.step() : p.cost.step() * risk().felt.value;
  }
};

struct Kind {
  const char* id;
  bool (*applies)(const Case&);
  Sentence (*statement)(const Case&);
  Arrival (*arrival)(const Case&);
  const char* symptom;
  const char* metric;
};

Sentence room_said(const Case& c) {
  Sentence s;
  if (c.limited()) {
    s << "a token takes more than its limit of " << stated("limit", *c.q.tpot_limit);
  } else {
    s << "a token takes " << stated_risk(c.risk(), &RiskFigures::felt) << " longer";
  }
  return s;
}

double d(std::int64_t v) { return static_cast<double>(v); }

// One sequence alone has nobody to keep waiting.
bool prefill_interference(const Case& c) { return c.q.batch > 1; }
Sentence prefill_said(const Case& c) {
  Sentence s;
  s << "a prompt of " << stated_counted("prompt", c.q.context(), "token") << " takes "
    << stated("prefill", c.cost().prefill()) << ", as long as "
    << stated_number("tokens_waited", (c.cost().prefill() / c.cost().step()).raw())
    << " tokens, and every answer that runs on the replica waits for it";
  return s;
}
Arrival prefill_arrives(const Case& c) {
  // Prompts at a rate r leave a share 1 - r x prefill of the time for tokens.
  const Seconds<> longer = c.cost().step() + c.room();
  const double rate = (c.room() / longer).raw() / c.cost().prefill().raw();
  Sentence then = room_said(c);
  then << " on average";
  return {"above", {{"level", rate, "1/s"}, format_number(rate) + " prompts a second"}, then};
}

// A cache that holds little more than the load fills up when answers run longer than they were told.
bool cache_full(const Case& c) {
  return c.cost().concurrency.raw() < c.risk().cache_load.value.raw() * d(c.q.batch);
}
Sentence cache_said(const Case& c) {
  Sentence s;
  s << "the cache holds " << stated_counted("concurrency", c.cost().concurrency.raw(), "sequence") << " of "
    << stated_counted("context", c.q.context(), "token") << ", less than "
    << stated_risk(c.risk(), &RiskFigures::cache_load) << " times the " << stated_count("batch", c.q.batch)
    << (c.q.batch == 1 ? " that is" : " that are") << " decoded together";
  return s;
}
Arrival cache_arrives(const Case& c) {
  const double tokens_held = c.cost().kv_capacity.raw();
  Sentence then;
  then << "requests wait, or lose their cache and are computed again";
  return {"above", {{"level", tokens_held, "tokens"}, format_count(tokens_held) + " tokens"}, then};
}

// The formulas have not been held against measured runs.
bool margin(const Case& c) {
  return c.limited() && *c.q.tpot_limit < c.cost().step() * c.risk().token_time_off.value;
}
Sentence margin_said(const Case& c) {
  Sentence s;
  s << "the limit of " << stated("limit", *c.q.tpot_limit) << " leaves " << stated("room", c.room())
    << " beside the " << stated("token", c.cost().step())
    << " of a token for all that is left out, which may well make it "
    << stated_risk(c.risk(), &RiskFigures::token_time_off) << " times as long: host, launches, sampling";
  return s;
}
Arrival margin_arrives(const Case& c) { return {"above", stated("level", c.room()), room_said(c)}; }

Seconds<> latency(const Case& c) { return c.cost().all_reduces * c.cost().all_reduce.cost.latency_term; }
bool small_messages(const Case& c) {
  return c.p.plan.tp > 1 && latency(c) > c.cost().step() * c.risk().exposed.value;
}
Sentence small_messages_said(const Case& c) {
  Sentence s;
  s << stated_count("all_reduces", c.cost().all_reduces.raw()) << " all-reduces of "
    << stated("message", c.cost().message) << " over "
    << c.q.question.cluster.tiers[c.cost().all_reduce.tier].name << " take " << stated("latency", latency(c))
    << " of latency, " << stated_share("latency_share", (latency(c) / c.cost().step()).raw())
    << " of a token";
  return s;
}
Arrival small_messages_arrive(const Case& c) {
  Sentence then = room_said(c);
  then << "; " << stated("all_reduce", c.cost().all_reduce.cost.total()) << " are expected";
  return {"above", stated("level", c.cost().all_reduce.cost.total() + c.room() / c.cost().all_reduces), then};
}

constexpr std::array kKinds{
    Kind{"prefill_interference", prefill_interference, prefill_said, prefill_arrives,
         "answers pause whenever a prompt arrives: the 99th percentile leaves the median",
         "prompts a second of the replica, beside the 99th percentile of the time between tokens"},
    Kind{"cache_full", cache_full, cache_said, cache_arrives,
         "requests queue or are preempted while the GPUs are not busy",
         "tokens in the replica's cache, beside preemptions"},
    Kind{"margin", margin, margin_said, margin_arrives,
         "the time for each token creeps over its limit as load and contexts grow",
         "time between tokens beyond what is expected"},
    Kind{"small_message_latency", small_messages, small_messages_said, small_messages_arrive,
         "tokens take longer than reading weights and cache explains; GPUs idle between kernels",
         "time of one such all-reduce"},
};

}  // namespace

std::vector<FailureMode> serve_failure_modes(const ServeQuestion& q, const ServePlan& p) {
  std::vector<FailureMode> found;
  if (!p.fits) return found;
  const Case c{q, p};
  for (const Kind& kind : kKinds) {
    if (!kind.applies(c)) continue;
    found.push_back(failure_mode(kind.id, kind.statement(c), kind.symptom, kind.metric, kind.arrival(c)));
  }
  return found;
}

}  // namespace shardplan
