// Bounds on axes that are searched: --min, --max, --forbid; and axes that are told in one flag: --fix.
//
//   FixedAxes axes;
//   read_bounds({.min = "tp=2", .max = "pp=8,micro-batch=2", .forbid = "cp,zero"}, axes);
//   axes.bounds_of(Degree::kPp).most   // 8
//   take_fixed("tp=8,schedule=1f1b", spec);   // as --tp 8 --schedule 1f1b
//
// An axis is forbidden by holding it at its least value, 1 or ZeRO stage 0, a switch by turning it off; a
// forbidden shard group leaves sharding over all replicas. Not here: what the values of the
// flags mean (question.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/plan.h"
#include "catalog/result.h"
#include "import/question.h"

namespace shardplan {

struct BoundTexts {
  std::optional<std::string> min, max, forbid;
};

/// Adds the bounds to `axes`; returns a sentence for each. An error where an axis or a value is none, where
/// no value lies between the two bounds, or where a told degree does not.
Result<std::vector<std::string>> read_bounds(const BoundTexts& texts, FixedAxes& axes);

/// Tells `spec` the axes of --fix; an error where one is none, or is told by its own flag too.
std::optional<Error> take_fixed(const std::optional<std::string>& text, QuestionSpec& spec);

}  // namespace shardplan
