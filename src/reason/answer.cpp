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

}  // namespace shardplan
