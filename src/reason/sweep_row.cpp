#include "reason/sweep_row.h"

#include <utility>

#include "reason/binding.h"
#include "reason/memory_answer.h"

namespace shardplan {
namespace {

void judge(const Question& q, const Evidence& evidence, SweepRow& row) {
  const Estimate& best = *row.best;
  const AnswerBands bands = answer_bands(q, &best.plan, evidence);
  row.verdict = verdict_of(best.memory.total(), best.usable, bands.memory ? &*bands.memory : nullptr);
  if (bands.step) row.step_range = step_range(q.workload, *bands.step, best.step);
}

}  // namespace

SweepRow sweep_row(const Result<Question>& question, const Evidence& evidence) {
  SweepRow row;
  if (!question) {
    row.error = question.error();
    return row;
  }
  const Estimator estimator(*question);
  const FixedAxes& fixed = question->fixed;
  SearchResult result = search(estimator, fixed, SearchOptions{.runners_up = 0, .threads = 1});
  if (result.census.considered == 0) {
    if (const auto illegal = why_illegal(estimator.question(), fixed)) {
      row.error = illegal_plan(*illegal);
      return row;
    }
  }
  row.binding = binding_constraint(estimator, fixed, result);
  row.best = std::move(result.best);
  if (row.best) {
    judge(*question, evidence, row);
  } else {
    row.nearest_miss = std::move(result.census.nearest_miss);
  }
  row.assumed = question->assumed;
  row.notes = question->notes;
  return row;
}

}  // namespace shardplan
