#include "estimate/serve.h"

#include <algorithm>
#include <cmath>

#include "cost/group_collectives.h"
#include "cost/serving_time.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

ServeWork work_of(const ServeQuestion& q, const ServeShape& shape, const ServeRun& run) {
  ServeWork work;
  work.load = {run.batch, q.input, q.output, false, run.prompts_elsewhere};
  work.drafts = q.drafts;
  const double sequences = sequences_at_once(shape.split, work.load);
  const double padded = q.graphs ? captured_batch(q.memory, sequences) : sequences;
  if (padded != sequences) work.padded = padded;
  return work;
}

/// Wait of a prompt for those before it: of the told share of requests, or the mean; no longer than for all
/// that can be there.
template <class N>
Seconds<N> wait_of(const ServeQuestion& q, const Ratio<N>& busy, const Seconds<N>& prompt, double before) {
  if (!(value_of(busy) > 0) || !(before > 0)) return {};
  Seconds<N> most = leaf<N>("prompts that can be before it", before, "batch") * prompt;
  if (value_of(busy) >= 1) return most;
  if (!q.percentile) return min(most, call<PromptQueue>(PromptQueue::In<N>{busy, prompt}));
  return min(most, call<LatePromptQueue>(LatePromptQueue::In<N>{
                       busy, prompt, leaf<N>("share beyond", 1 - *q.percentile, "flag --percentile")}));
}

template <class N>
void add_late_prompts(const ServeQuestion& q, ServeCost<N>& c) {
  if (!q.percentile || !(value_of(c.time.prompts) > 0)) return;
  const double deviations = normal_deviations(*q.percentile);
  c.tpot =
      c.time.step_token() + call<LatePrompts>(LatePrompts::In<N>{
                                c.time.prompts, leaf<N>("output tokens", q.output, "flag --output"),
                                c.time.prompt(), leaf<N>("deviations", deviations, "flag --percentile")});
}

template <class N>
void add_rates(const ServeQuestion& q, const ServeShape& shape, const ServeRun& run, ServeCost<N>& c) {
  c.tpot = c.time.token();
  if (!(q.output > 0)) {
    // Nothing is known of what comes: a prompt waits for nothing, a step makes a token for each request.
    c.ttft = c.time.prompt();
    c.throughput = leaf<N>("tokens of a step", tokens(d(run.batch)), "batch") / c.tpot;
    return;
  }
  const auto output = leaf<N>("output tokens", q.output, "flag --output");
  const double of_group = std::max(1.0, d(run.batch) / d(shape.split.data));
  const Seconds<N> first = run.prompts_elsewhere ? c.time.step_token() : c.time.prompt();
  const auto of_one = call<RequestRate>(
      RequestRate::In<N>{leaf<N>("requests of a group", of_group, "batch"), first, output, c.time.token()});
  const double groups = d(run.batch) / of_group;
  c.requests = groups == 1 ? of_one : leaf<N>("groups of attention", groups, "split") * of_one;
  c.throughput = leaf<N>("output tokens", tokens(q.output), "flag --output") * c.requests;
  if (run.prompts_elsewhere) {
    c.ttft = c.time.step_token();
    return;
  }
  c.busy = of_one * c.time.prompt();
  c.queue = wait_of<N>(q, c.busy, c.time.prompt(), of_group - 1);
  c.ttft = value_of(c.queue) > 0 ? c.queue + c.time.prompt() : c.time.prompt();
  add_late_prompts<N>(q, c);
}

/// What the engine is told to let run: no fewer than do.
EngineLimits limits_of(const ServeQuestion& q, const ServeShape& shape, std::int64_t batch) {
  EngineLimits limits = q.limits;
  const double of_group = std::ceil(d(batch) / d(shape.split.data));
  if (limits.requests.value > ratio(0) && limits.requests.value < ratio(of_group))
    limits.requests.value = ratio(of_group);
  return limits;
}

}  // namespace

double request_tokens(const ServeQuestion& q) { return q.input + q.output; }

double normal_deviations(double share) {
  constexpr double kMost = 8;
  double low = -kMost, high = kMost;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

template <class N>
ServeCost<N> serve_cost(const ServeQuestion& q, const ServeShape& shape, const ServeRun& run) {
  ServeCost<N> c;
  c.memory = serve_memory<N>(shape, request_tokens(q));
  c.room = serve_room<N>(q.question.cluster, q.memory, limits_of(q, shape, run.batch), shape, c.memory);
  c.kept =
      leaf<N>("requests of a group", std::max(1.0, std::ceil(d(run.batch) / d(shape.split.data))), "batch") *
      c.memory.request;
  c.time = token_time<N>(q.question.cluster, shape, q.time, q.launch, work_of(q, shape, run));
  add_rates<N>(q, shape, run, c);
  return c;
}

template <class N>
PrefillCost<N> prefill_cost(const ServeQuestion& q, const ServeShape& shape) {
  PrefillCost<N> c;
  c.memory = serve_memory<N>(shape, q.input);
  c.room = serve_room<N>(q.question.cluster, q.memory, q.limits, shape, c.memory);
  c.time = token_time<N>(q.question.cluster, shape, q.time, q.launch, work_of(q, shape, {1, true}));
  const auto links = cluster_links<N>(q.question.cluster);
  const Link<N>& link = links.back();
  c.transfer = call<CacheTransfer>(CacheTransfer::In<N>{c.memory.request, link.bandwidth, link.latency});
  return c;
}

template <class N>
Seconds<N> prefill_ttft(const ServeQuestion& q, const PrefillCost<N>& c, const Ratio<N>& busy) {
  constexpr double kNoEnd = 1e9;  // nothing bounds how many requests come
  const Seconds<N> wait = wait_of<N>(q, busy, c.time.prompt(), kNoEnd);
  return (value_of(wait) > 0 ? wait + c.time.prompt() : c.time.prompt()) + c.transfer;
}

template ServeCost<double> serve_cost<double>(const ServeQuestion&, const ServeShape&, const ServeRun&);
template ServeCost<Traced> serve_cost<Traced>(const ServeQuestion&, const ServeShape&, const ServeRun&);
template PrefillCost<double> prefill_cost<double>(const ServeQuestion&, const ServeShape&);
template PrefillCost<Traced> prefill_cost<Traced>(const ServeQuestion&, const ServeShape&);
template Seconds<double> prefill_ttft<double>(const ServeQuestion&, const PrefillCost<double>&,
                                              const Ratio<double>&);
template Seconds<Traced> prefill_ttft<Traced>(const ServeQuestion&, const PrefillCost<Traced>&,
                                              const Ratio<Traced>&);

}  // namespace shardplan
