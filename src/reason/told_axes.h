// Where an error about a plan that cannot be points: the flags that told the axes in question.
//
//   illegal_axes(*why_illegal(question, question.fixed), asked.told).where   // "--fix tp, --min pp"
//
// Not here: which rule is broken (graph/space.h), why no plan agrees with what is told (answer.h).
#pragma once

#include <vector>

#include "catalog/plan_question.h"
#include "catalog/result.h"
#include "reason/answer.h"

namespace shardplan {

/// illegal_plan() with flags: of what the broken rule is about, else all of them; the rule where none is
/// told.
Error illegal_axes(const Violation& violation, const std::vector<ToldAxis>& told);

/// The same with the smallest change that makes a plan legal, where one told axis is enough: its value that
/// is nearest to what was told ("--tp 8"). Where none is told the number of GPUs nearest to the question's
/// ("--gpus 16384").
Error illegal_axes(const Question& question, const FixedAxes& fixed, const Violation& violation,
                   const std::vector<ToldAxis>& told);

}  // namespace shardplan
