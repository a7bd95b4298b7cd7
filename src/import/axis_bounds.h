// Bounds on axes that are searched: --min, --max, --forbid; and axes that are told in one flag: --fix.
//
//   FixedAxes axes;
//   read_bounds({.min = "tp=2", .max = "pp=8,micro-batch=2", .forbid = "cp,zero"}, axes);
//   axes.bounds_of(Degree::kPp).most   // 8
//   take_fixed("tp=8,schedule=1f1b", spec);   // as --tp 8 --schedule 1f1b
//
// An axis is forbidden by holding it at its least value, 1 or ZeRO stage 0, a switch by turning it off; a
// forbidden shard group leaves sharding over all replicas, a forbidden end of the pipeline is dealt as the
// other chunks. Of axes that have names for values some may be forbidden: "precision=fp8". Not here: what the
// values of the flags mean (question.h).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "catalog/plan.h"
#include "catalog/plan_question.h"
#include "catalog/result.h"
#include "import/question.h"

namespace shardplan {

struct BoundTexts {
  std::optional<std::string> min, max, forbid;
};

/// Adds the bounds to `axes`; returns a sentence for each. An error where an axis or a value is none, where
/// no value lies between the two bounds, or where a told degree does not.
Result<std::vector<std::string>> read_bounds(const BoundTexts& texts, FixedAxes& axes);

/// The values that --forbid names.
struct ForbiddenValues {
  std::vector<PrecisionRecipe> precisions;
  std::vector<Schedule> schedules;
  std::vector<RankOrder> rank_orders;
  bool holds(Schedule s) const { return std::find(schedules.begin(), schedules.end(), s) != schedules.end(); }
  bool holds(PrecisionRecipe p) const {
    return std::find(precisions.begin(), precisions.end(), p) != precisions.end();
  }
};
Result<ForbiddenValues> read_forbidden(const BoundTexts& texts);
/// Takes schedules and rank orders out of what is searched, and says so; an error where one is told, or where
/// none is left.
std::optional<Error> take_out_forbidden(const ForbiddenValues& values, Question& q);

/// Tells `spec` the axes of --fix and returns their names; an error where one is none, or is told by its own
/// flag too.
Result<std::vector<std::string>> take_fixed(const std::optional<std::string>& text, QuestionSpec& spec);
/// An error about the flag of an axis names --fix where that told it.
Error as_typed(Error error, const std::vector<std::string>& in_fix);
/// By its own flag, in --fix, or bounded.
std::vector<ToldAxis> told_axes(const QuestionSpec& spec, const std::vector<std::string>& in_fix = {},
                                const BoundTexts& bounds = {});

}  // namespace shardplan
