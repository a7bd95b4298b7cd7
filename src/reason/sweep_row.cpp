#include "reason/sweep_row.h"

#include "reason/binding.h"
#include "reason/memory_answer.h"
#include "reason/told_axes.h"

namespace shardplan {
namespace {

/// A row is worked out on one thread: others work on other rows.
const SearchOptions kOptions{.runners_up = 0, .threads = 1};

void judge(const Question& q, const Evidence& evidence, SweepRow& row) {
  const Estimate& best = *row.run.best;
  const AnswerBands bands = answer_bands(q, &best.plan, evidence);
  row.verdict = verdict_of(best.memory.total(), best.usable, bands.memory ? &*bands.memory : nullptr);
  if (bands.step) row.step_range = step_range(q.workload, *bands.step, best.step);
}

}  // namespace

SweepRow sweep_row(const Result<PlanQuestion>& asked, const Evidence& evidence) {
  SweepRow row;
  if (!asked) {
    row.error = asked.error();
    return row;
  }
  const SizeChoice choice = choose_size(*asked, kOptions);
  const Question& question = choice.question;
  const Estimator estimator(question);
  SearchResult result = search_chosen(estimator, choice, kOptions);
  if (result.census.considered == 0) {
    if (const auto illegal = why_illegal(question, question.fixed)) {
      row.error = illegal_axes(*illegal, asked->told);
      return row;
    }
  }
  row.gpus = question.cluster.gpus;
  row.precision = name(question.workload.recipe);
  row.binding = binding_constraint(estimator, question.fixed, result);
  row.run = run_answer(asked->objective, choice.sizes, result.best);
  if (row.run.best) {
    judge(question, evidence, row);
  } else {
    row.nearest_miss = result.census.nearest_miss;
  }
  row.assumed = question.assumed;
  row.notes = question.notes;
  return row;
}

}  // namespace shardplan
