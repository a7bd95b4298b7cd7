#include "report/plan_trace.h"

#include <optional>

#include "estimate/interruptions.h"
#include "estimate/run_totals.h"
#include "reason/failure_modes.h"

namespace shardplan {

TraceRoots PlanTrace::roots() const {
  TraceRoots all = headline;
  all.insert(all.end(), time.begin(), time.end());
  all.insert(all.end(), memory.begin(), memory.end());
  all.insert(all.end(), run.begin(), run.end());
  return all;
}

namespace {

/// The sums that a report opens with, of their named parts.
TraceRoots headline_trace(const Estimator& estimator, const Plan& plan, const TimeBreakdown<Traced>& time,
                          const MemoryBreakdown<Traced>& memory) {
  std::optional<Seconds<Traced>> step;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (value_of(time.terms[i].time) == 0) continue;
    const auto part = named(name(static_cast<TimeTerm>(i)), time.terms[i].exposed());
    step = step ? *step + part : part;
  }
  std::optional<Bytes<Traced>> held;
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (value_of(memory.terms[i]) == 0) continue;
    const auto part = named(name(static_cast<MemoryTerm>(i)), memory.terms[i]);
    held = held ? *held + part : part;
  }
  const StepRates<Traced> rates = estimator.step_rates<Traced>(plan, *step);
  const Bytes<Traced> left = estimator.usable<Traced>() - *held;
  return {{"step", step->raw().shared()},
          {"throughput", rates.tokens_per_gpu.raw().shared()},
          {"MFU", rates.mfu.raw().shared()},
          {"HFU", rates.hfu.raw().shared()},
          {"memory left free", left.raw().shared()}};
}

TraceRoots memory_trace(const MemoryBreakdown<Traced>& memory) {
  TraceRoots roots;
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (value_of(memory.terms[i]) == 0) continue;
    roots.emplace_back(name(static_cast<MemoryTerm>(i)), memory.terms[i].raw().shared());
  }
  return roots;
}

}  // namespace

PlanTrace plan_trace(const Estimator& estimator, const SearchResult& result, const Objective& objective) {
  PlanTrace trace;
  if (!result.best) {
    if (const auto& miss = result.census.nearest_miss)
      trace.memory = memory_trace(estimator.stage_memory<Traced>(miss->plan, miss->stage));
    return trace;
  }
  const Estimate& best = *result.best;
  const auto time = estimator.time<Traced>(best.plan);
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (value_of(time.terms[i].time) == 0) continue;
    trace.time.emplace_back(name(static_cast<TimeTerm>(i)), time.terms[i].exposed().raw().shared());
  }
  const auto memory = estimator.stage_memory<Traced>(best.plan, best.fullest_stage);
  trace.memory = memory_trace(memory);
  trace.headline = headline_trace(estimator, best.plan, time, memory);
  if (interruptions_expected(estimator)) {
    trace.run.emplace_back("effective time", interruptions<Traced>(estimator).effective.raw().shared());
  }
  if (!objective.budget) return trace;
  const Seconds<Traced> run = run_time<Traced>(*objective.budget, best);
  trace.run.emplace_back("run", run.raw().shared());
  if (objective.price) trace.run.emplace_back("cost", run_cost<Traced>(run, objective, best).raw().shared());
  return trace;
}

}  // namespace shardplan
