#include "reason/answer.h"

#include <algorithm>
#include <utility>

#include "reason/axes.h"
#include "reason/binding.h"
#include "reason/failure_modes.h"
#include "reason/judged_by.h"
#include "reason/memory_answer.h"
#include "reason/nearest_measured.h"
#include "reason/nothing_fits.h"
#include "reason/sensitivity.h"
#include "reason/threshold_inputs.h"
#include "reason/thresholds.h"
#include "reason/unknowns.h"

namespace shardplan {

namespace {

/// The best plan of which the whole band of memory is usable: that of devices which have so much less.
std::optional<Estimate> best_clear(const Estimator& estimator, const FixedAxes& fixed, const ErrorBand& band,
                                   SearchWatch* watch) {
  Question smaller = estimator.question();
  const Bytes<> usable = estimator.usable<double>();
  smaller.cluster.reserve_fixed.value += usable - usable / ratio(band.high_ratio);
  const auto best = fastest(Estimator(smaller), fixed, std::nullopt, watch).best;
  if (!best || stopped(watch)) return std::nullopt;
  return estimator.complete(best->plan, best->memory, best->fullest_stage);
}

void judge_memory(const Estimator& estimator, const FixedAxes& fixed, SearchWatch* watch, Answer& a) {
  const ErrorBand* band = a.memory_band ? &*a.memory_band : nullptr;
  const MemoryAccount& best = a.memory.front();
  a.verdict = verdict_of(best.worst().total(), best.usable, band);
  if (a.verdict != Verdict::kTight) return;
  if (!stopped(watch)) a.best_clear = best_clear(estimator, fixed, *band, watch);
  if (a.best_clear) a.best_clear_memory = estimator.memory_account(a.best_clear->plan);
  a.clear_left = !a.best_clear && stopped(watch);
  if (a.clear_left) a.not_looked_at.emplace_back("plan that clearly fits");
}

void add_unused(UnusedAxes unused, Answer& a) {
  a.not_used = std::move(unused.found);
  for (const std::string& axis : unused.left) a.not_looked_at.push_back("axis not used: " + axis);
}

void add_thresholds(Thresholds thresholds, Answer& a) {
  a.thresholds = std::move(thresholds.found);
  for (const std::string& parameter : thresholds.left) a.not_looked_at.push_back("threshold: " + parameter);
}

}  // namespace

AnswerBands answer_bands(const Question& q, const Plan* best, const Evidence& evidence) {
  // They are of whole models trained on the devices, with balanced experts.
  const bool offloads = best != nullptr && best->offload != 0;
  if (q.workload.adapters.rank != 0 || q.workload.expert_load != 1 || offloads) return {};
  const auto band = [&](const char* kind) {
    const ErrorBand* found = find_band(evidence, kind, q.framework.name, q.cluster.device);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  return {band(kTimeBand), band(kMemoryBand)};
}

Error illegal_plan(const Violation& violation) {
  return {"illegal_plan", violation.where, name(violation.constraint),
          "axes that divide the model, the batch and the GPUs", ""};
}

Answer answer(const Estimator& estimator, const FixedAxes& fixed) {
  return answer(estimator, fixed, search(estimator, fixed));
}

Answer answer(const Estimator& estimator, const FixedAxes& fixed, SearchResult result,
              const Evidence& evidence, SearchWatch* watch, std::optional<UsdPerSecond<>> price) {
  Answer a;
  const Question& q = estimator.question();
  a.result = std::move(result);
  // Who stopped a search does not wait for those that say where its answer changes.
  SearchWatch over;
  over.stop = true;
  if (a.result.stopped) watch = &over;
  const AnswerBands bands = answer_bands(q, a.result.best ? &a.result.best->plan : nullptr, evidence);
  a.step_band = bands.step;
  a.memory_band = bands.memory;
  a.binding = binding_constraint(estimator, fixed, a.result);
  if (a.result.best) {
    const Estimate& best = *a.result.best;
    a.memory = memory_accounts(estimator, a.result);
    judge_memory(estimator, fixed, watch, a);
    a.utilisations.push_back(estimator.utilisations(best.plan, best.step));
    for (const Estimate& e : a.result.runners_up)
      a.utilisations.push_back(estimator.utilisations(e.plan, e.step));
    a.axes = axis_findings(estimator, best);
    add_unused(unused_axes(estimator, fixed, a.result, watch), a);
    a.failure_modes = failure_modes(estimator, best, a.axes);
    a.judged_by = judged_by(*q.risk, a.axes, a.failure_modes);
    a.sensitivity = sensitivity(estimator, best);
    a.nearest = nearest_measured(evidence, run_profile(q, best.plan));
  } else {
    if (!stopped(watch)) a.nothing_fits = nothing_fits(estimator, fixed, a.result, price, watch);
    if (stopped(watch)) a.not_looked_at.emplace_back("changes that make a plan fit");
  }
  add_thresholds(thresholds(estimator, fixed, a.result, watch), a);
  if (!stopped(watch)) a.not_sought = not_sought(q, a.result);
  a.unknowns = unknowns(q, a.result.best ? &*a.result.best : nullptr, bands);
  return a;
}

namespace {

std::int64_t legal_plans(const Space& space, const FixedAxes& axes) { return space.count(axes); }

/// The plainest plan with the told axes: replicas take what is left.
Plan plainest_plan(const Question& q, const FixedAxes& fixed) {
  Plan plan;
  plan.tp = fixed.tp.value_or(1);
  plan.interleave = fixed.interleave.value_or(fixed.schedule == Schedule::kInterleaved ? 2 : 1);
  // Chunks need stages: the fewest there can be.
  const auto ways = divisors(q.cluster.gpus);
  const std::int64_t fewest_stages = plan.interleave > 1 && ways.size() > 1 ? ways[1] : 1;
  plan.pp = fixed.pp.value_or(static_cast<std::int32_t>(fewest_stages));
  plan.cp = fixed.cp.value_or(1);
  plan.ep = fixed.ep.value_or(1);
  plan.etp = fixed.etp.value_or(1);
  plan.micro_batch = fixed.micro_batch.value_or(1);
  plan.offload = fixed.offload.value_or(0);
  plan.shard_group = fixed.shard_group.value_or(0);
  plan.rank_order = fixed.rank_order.value_or(RankOrder{});
  // A group to shard over needs a stage that shards.
  const auto& stages = q.framework.zero;
  std::int8_t stage = 0;
  if (plan.shard_group > 0) {
    while (stage < 3 && (stage == 0 || !stages[static_cast<std::size_t>(stage)].allowed)) ++stage;
  }
  plan.zero_stage = fixed.zero_stage.value_or(stage);
  plan.schedule = fixed.schedule.value_or(plan.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
  plan.sequence_parallel = fixed.sequence_parallel.value_or(plan.tp > 1);
  const std::int64_t rest = std::int64_t{plan.tp} * plan.pp * plan.cp;
  const auto remain = static_cast<std::int32_t>(std::max<std::int64_t>(1, q.cluster.gpus / rest));
  plan.dp = fixed.dp.value_or(std::min(remain, fixed.bounds_of(Degree::kDp).most));
  const std::int64_t batch = q.workload.global_batch, each = std::int64_t{plan.dp} * plan.micro_batch;
  plan.grad_accumulation =
      batch > 0 ? static_cast<std::int32_t>(std::max<std::int64_t>(1, batch / each)) : plan.pp;
  return plan;
}

/// The bound, in the order of the axes, with which the last legal plans go, and the rule that the plainest
/// plan within all of them breaks.
Violation broken_by_bounds(const Question& q, const Space& space, const FixedAxes& fixed) {
  FixedAxes axes = fixed, least = fixed;
  axes.bounds = {};
  std::string last;
  for (std::size_t i = 0; i < kDegreeCount; ++i) {
    const auto degree = static_cast<Degree>(i);
    const DegreeBounds& bounds = fixed.bounds_of(degree);
    if (bounds == DegreeBounds{}) continue;
    axes.bounds_of(degree) = bounds;
    if (!least.told(degree) && bounds.least > lowest(degree)) least.tell(degree, bounds.least);
    if (last.empty() && legal_plans(space, axes) == 0) last = name(degree) + (" " + words(degree, bounds));
  }
  Violation found{Constraint::kGpuCount, 0, 0, "no degrees of the other axes go with it"};
  if (auto violation = space.violation(plainest_plan(q, least))) found = std::move(*violation);
  found.where = "of the plans within --min, --max and --forbid, " + last + " leaves none: " + found.where;
  return found;
}

}  // namespace

std::optional<Violation> why_illegal(const Question& q, const FixedAxes& fixed) {
  const Space space(q);
  if (legal_plans(space, fixed) > 0) return std::nullopt;
  FixedAxes unbounded = fixed;
  unbounded.bounds = {};
  if (!(unbounded == fixed) && legal_plans(space, unbounded) > 0) return broken_by_bounds(q, space, fixed);
  const Plan plan = plainest_plan(q, fixed);
  if (auto violation = space.violation(plan)) return violation;
  return Violation{plan.shard_group > 0 ? Constraint::kZero : Constraint::kBatch, 0, 0,
                   "no degrees of the other axes go with those that were told"};
}

}  // namespace shardplan
