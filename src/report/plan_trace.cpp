#include "report/plan_trace.h"

#include "estimate/interruptions.h"
#include "estimate/run_totals.h"
#include "reason/failure_modes.h"

namespace shardplan {

TraceRoots PlanTrace::roots() const {
  TraceRoots all = time;
  all.insert(all.end(), memory.begin(), memory.end());
  all.insert(all.end(), run.begin(), run.end());
  return all;
}

namespace {

TraceRoots memory_trace(const Estimator& estimator, const Plan& plan, int stage) {
  const auto memory = estimator.stage_memory<Traced>(plan, stage);
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
      trace.memory = memory_trace(estimator, miss->plan, miss->stage);
    return trace;
  }
  const Estimate& best = *result.best;
  const auto time = estimator.time<Traced>(best.plan);
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (value_of(time.terms[i].time) == 0) continue;
    trace.time.emplace_back(name(static_cast<TimeTerm>(i)), time.terms[i].exposed().raw().shared());
  }
  trace.memory = memory_trace(estimator, best.plan, best.fullest_stage);
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
