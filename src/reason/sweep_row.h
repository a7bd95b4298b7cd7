// What a sweep keeps of one question: the best plan and what binds it, or why there is none.
//
//   SweepRow row = sweep_row(item_question(item, catalog()), catalog().evidence);
//   row.run.best->step;            // or, where it is empty:
//   row.binding.statement;         // "state binds: under any plan it is at least 325.96 GiB ..."
//   row.error->message;            // the item asks for what cannot be
//
// A function of its question alone: rows may be worked out in any order, on any thread or machine. Not here:
// runners-up, thresholds and what else `plan` says of one question (answer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reason/answer.h"
#include "reason/remarks.h"
#include "reason/run_answer.h"

namespace shardplan {

struct SweepRow {
  std::optional<Error> error;  // nothing else is there then
  std::int64_t gpus = 0;       // the best of several sizes; where nothing fits, the largest
  std::string precision;       // the best of several, likewise
  RunAnswer run;               // no best: nothing fits
  BindingConstraint binding;
  std::optional<NearestMiss> nearest_miss;  // of plans that do not fit, where none does
  std::optional<StepRange> step_range;      // what measured runs say of the best step
  Verdict verdict = Verdict::kNo;
  std::vector<std::string> assumed, notes;  // of the question
};

SweepRow sweep_row(const Result<PlanQuestion>& asked, const Evidence& evidence);

}  // namespace shardplan
