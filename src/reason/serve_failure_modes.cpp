// What can go wrong with a way to serve that the formulas call good, and where it has arrived.
#include <algorithm>
#include <array>

#include "reason/failure_kinds.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

// A pool that is busier than this has waits as long as its prompts.
constexpr double kBusy = 2.0 / 3;

struct Case {
  const ServeQuestion& q;
  const ServePlan& p;
  const std::optional<ErrorBand>& band;
  const ServeCost<>& cost() const { return p.cost; }
  const TokenTime<>& time() const { return p.cost.time; }
  const RiskFigures& risk() const { return *q.question.risk; }
  /// By how much a token may become longer: up to its limit, or by what is felt where none is told.
  bool limited() const { return q.tpot_limit && p.meets; }
  Seconds<> room() const { return limited() ? *q.tpot_limit - p.cost.tpot : p.cost.tpot * risk().felt.value; }
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

// One sequence alone has nobody to keep waiting, and prompts of others' are computed elsewhere.
bool prefill_interference(const Case& c) { return c.p.batch > 1 && !c.p.prefill; }
Sentence prefill_said(const Case& c) {
  Sentence s;
  s << "a prompt of " << stated_counted("prompt", c.q.input, "token") << " takes "
    << stated("prefill", c.time().prompt()) << ", as long as "
    << stated_number("tokens_waited", (c.time().prompt() / c.time().step()).raw())
    << " tokens, and every answer that runs on the replica waits for it";
  const double chunk = c.q.limits.prompt_tokens.value.raw();
  if (chunk > 0 && chunk < c.q.input) s << ", " << stated_counted("chunk", chunk, "token") << " at a time";
  return s;
}
Arrival prefill_arrives(const Case& c) {
  // Prompts at a rate r leave a share 1 - r x prefill of the time for tokens.
  const Seconds<> step = c.time().step_token(), longer = c.cost().tpot + c.room();
  const double rate = ((longer - step) / longer).raw() / c.time().prompt().raw();
  Sentence then = room_said(c);
  then << " on average";
  return {"above", {{"level", rate, "1/s"}, format_number(rate) + " prompts a second"}, then};
}

// A cache that holds little more than the load fills up when answers run longer than they were told.
bool cache_full(const Case& c) {
  return c.cost().room.requests.raw() < c.risk().cache_load.value.raw() * d(c.p.batch);
}
Sentence cache_said(const Case& c) {
  Sentence s;
  s << "the cache holds " << stated_counted("concurrency", c.cost().room.requests.raw(), "sequence") << " of "
    << stated_counted("context", request_tokens(c.q), "token") << ", less than "
    << stated_risk(c.risk(), &RiskFigures::cache_load) << " times the " << stated_count("batch", c.p.batch)
    << (c.p.batch == 1 ? " that is" : " that are") << " decoded together";
  return s;
}
Arrival cache_arrives(const Case& c) {
  const double tokens_held = c.cost().room.requests.raw() * request_tokens(c.q);
  Sentence then;
  then << "requests wait, or lose their cache and are computed again";
  return {"above", {{"level", tokens_held, "tokens"}, format_count(tokens_held) + " tokens"}, then};
}

/// How many times as long as predicted a token may well be.
double may_well_be(const Case& c) {
  return c.band ? c.band->high_ratio : c.risk().token_time_off.value.raw();
}
bool margin(const Case& c) { return c.limited() && *c.q.tpot_limit < c.cost().tpot * may_well_be(c); }
Sentence margin_said(const Case& c) {
  Sentence s;
  s << "the limit of " << stated("limit", *c.q.tpot_limit) << " leaves " << stated("room", c.room())
    << " beside the " << stated("token", c.cost().tpot) << " of a token";
  if (c.band) {
    s << ", and one in ten of " << stated_counted("rows", c.band->rows, "measured run")
      << " of this class took " << stated_number("high_ratio", c.band->high_ratio)
      << " times as long as predicted, or longer";
  } else {
    s << " for all that is left out, which may well make it "
      << stated_risk(c.risk(), &RiskFigures::token_time_off) << " times as long: host, launches, sampling";
  }
  return s;
}
Arrival margin_arrives(const Case& c) { return {"above", stated("level", c.room()), room_said(c)}; }

Seconds<> latency(const Case& c) { return c.time().all_reduces.latency() / c.time().accepted; }
bool small_messages(const Case& c) {
  return c.p.split.tensor > 1 && latency(c) > c.cost().tpot * c.risk().exposed.value;
}
Sentence small_messages_said(const Case& c) {
  const AllReduces<>& reduces = c.time().all_reduces;
  Sentence s;
  s << stated_count("all_reduces", reduces.count.raw()) << " all-reduces of "
    << stated("message", reduces.message) << " over " << c.q.question.cluster.tiers[reduces.tier].name
    << " take " << stated("latency", latency(c)) << " of latency, "
    << stated_share("latency_share", (latency(c) / c.cost().tpot).raw()) << " of a token";
  return s;
}
Arrival small_messages_arrive(const Case& c) {
  const AllReduces<>& reduces = c.time().all_reduces;
  Sentence then = room_said(c);
  then << "; " << stated("all_reduce", reduces.one.total()) << " are expected";
  return {"above", stated("level", reduces.one.total() + c.room() * c.time().accepted / reduces.count), then};
}

// Steps of more sequences than the largest captured one are launched kernel by kernel.
double largest_captured(const Case& c) {
  return c.q.memory.captured.empty() || !c.q.graphs ? 0 : d(c.q.memory.captured.back());
}
double sequences(const Case& c) { return sequences_at_once(c.p.split, {.batch = c.p.batch}); }
bool not_captured(const Case& c) { return largest_captured(c) > 0 && sequences(c) > largest_captured(c); }
Sentence not_captured_said(const Case& c) {
  Sentence s;
  s << "a step of " << stated_counted("sequences", sequences(c), "sequence")
    << " is larger than the largest that " << c.q.memory.name << " captures, "
    << stated_count("captured", largest_captured(c)) << ": its kernels are launched one by one";
  return s;
}
Arrival not_captured_arrives(const Case& c) {
  const double level = largest_captured(c);
  Sentence then("the host cannot launch kernels as fast as they run");
  return {"above", {{"level", level, "sequences"}, format_count(level) + " sequences"}, then};
}

bool busy_prompts(const Case& c) { return c.p.prefill && c.p.prefill->busy.raw() > kBusy; }
Sentence busy_prompts_said(const Case& c) {
  Sentence s("replicas that compute prompts are busy ");
  s << stated_share("busy", c.p.prefill->busy)
    << " of the time, and a burst of prompts waits for all before it";
  return s;
}
Arrival busy_prompts_arrive(const Case& c) {
  const double rate = c.p.requests.raw() / c.p.prefill->busy.raw();
  Sentence then("the queue of prompts grows without end");
  return {"above", {{"level", rate, "1/s"}, format_number(rate) + " requests a second"}, then};
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
    Kind{"not_captured", not_captured, not_captured_said, not_captured_arrives,
         "tokens take longer from one batch to the next, and GPUs idle between kernels",
         "running sequences of a step"},
    Kind{"prefill_busy", busy_prompts, busy_prompts_said, busy_prompts_arrive,
         "the time to the first token grows while the replicas that decode have room",
         "requests a second, beside the 99th percentile of the time to the first token"},
};

}  // namespace

std::vector<FailureMode> serve_failure_modes(const ServeQuestion& q, const ServePlan& p,
                                             const std::optional<ErrorBand>& band) {
  std::vector<FailureMode> found;
  if (!p.fits) return found;
  const Case c{q, p, band};
  for (const Kind& kind : kKinds) {
    if (!kind.applies(c)) continue;
    found.push_back(failure_mode(kind.id, kind.statement(c), kind.symptom, kind.metric, kind.arrival(c)));
  }
  return found;
}

}  // namespace shardplan
