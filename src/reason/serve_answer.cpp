#include "reason/serve_answer.h"

#include <algorithm>
#include <cassert>

#include "reason/judged_by.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

/// Whether `a` is to be shown rather than `b`: a yes before a no, what fits before what does not, then the
/// faster token; of those that do not fit, the one that needs least.
bool better(const ServePlan& a, const ServePlan& b) {
  const bool a_good = a.fits && a.meets, b_good = b.fits && b.meets;
  if (a_good != b_good) return a_good;
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.cost.step() < b.cost.step() : a.cost.memory() < b.cost.memory();
}

bool beaten(const ServePlan& a, const ServePlan& by) {
  const bool no_worse = by.cost.step() <= a.cost.step() && by.tokens_per_gpu() >= a.tokens_per_gpu();
  return by.fits && no_worse && (by.cost.step() < a.cost.step() || by.tokens_per_gpu() > a.tokens_per_gpu());
}

std::vector<std::size_t> pareto_of(const std::vector<ServePlan>& plans) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto beats = [&](const ServePlan& other) { return beaten(plans[i], other); };
    if (plans[i].fits && std::none_of(plans.begin(), plans.end(), beats)) found.push_back(i);
  }
  return found;
}

}  // namespace

TokensPerSecond<> ServePlan::tokens_per_gpu() const {
  return cost.throughput_gpu(ratio(static_cast<double>(plan.tp)));
}

DecodeCase decode_case(const ServeQuestion& q, const Plan& plan) { return {plan.tp, q.batch, q.context()}; }

ServeAnswer serve_answer(const ServeQuestion& q) {
  ServeAnswer a;
  a.question = q;
  Space(q.question).for_each(q.question.fixed, [&](const Plan& plan) {
    a.plans.push_back(serve_plan(q, plan));
  });
  assert(!a.plans.empty());
  for (std::size_t i = 1; i < a.plans.size(); ++i) {
    if (better(a.plans[i], a.shown())) a.chosen = i;
  }
  a.pareto = pareto_of(a.plans);
  a.findings.binding = serve_binding(q, a.shown());
  a.findings.axes = serve_axes(q, a.shown());
  a.findings.not_used = serve_unused_axes(q, a.shown());
  a.findings.failure_modes = serve_failure_modes(q, a.shown());
  a.findings.judged_by = judged_by(*q.question.risk, a.findings.axes, a.findings.failure_modes);
  a.findings.thresholds = serve_thresholds(q, a.shown());
  a.findings.unknowns = serve_unknowns(q, a.shown());
  return a;
}

}  // namespace shardplan
