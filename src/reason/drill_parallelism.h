// The four scenarios of drill 2, a file each or two: what drill_parallelism.cpp lists.
//
//   DrillSolution a = drill::solve_scale_out(reader);   // scenario A
//
// Private to reason/. Not here: how a solution is made up (drill.h).
#pragma once

#include <optional>
#include <string>

#include "reason/drill.h"

namespace shardplan::drill {

DrillSolution solve_scale_out(const DrillReader& reader);
std::optional<std::string> wrong_scale_out(const std::optional<Plan>& plan, const DrillReader& reader);

DrillSolution solve_large_state(const DrillReader& reader);
std::optional<std::string> wrong_large_state(const std::optional<Plan>& plan, const DrillReader& reader);

DrillSolution solve_long_context(const DrillReader& reader);
std::optional<std::string> wrong_long_context(const std::optional<Plan>& plan, const DrillReader& reader);

DrillSolution solve_serving(const DrillReader& reader);
std::optional<std::string> wrong_serving(const std::optional<Plan>& plan, const DrillReader& reader);

}  // namespace shardplan::drill
