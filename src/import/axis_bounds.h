// Bounds on degrees that are searched: --min, --max, --forbid.
//
//   FixedAxes axes;
//   read_bounds({.min = "tp=2", .max = "pp=8,micro-batch=2", .forbid = "cp"}, axes);
//   axes.bounds_of(Degree::kPp).most   // 8
//
// An axis is forbidden by holding it at 1. Not here: degrees that are told outright (question.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/plan.h"
#include "catalog/result.h"

namespace shardplan {

struct BoundTexts {
  std::optional<std::string> min, max, forbid;
};

/// Adds the bounds to `axes`; returns a sentence for each. An error where an axis or a value is none, where
/// no value lies between the two bounds, or where a told degree does not.
Result<std::vector<std::string>> read_bounds(const BoundTexts& texts, FixedAxes& axes);

}  // namespace shardplan
