// A plan as an argument: its text, a file that holds one, or - for standard input.
//
//   const Result<PlanText> plan = plan_argument(typed, "PLAN_A");
//
// Not here: how a plan is read (import/plan_text.h).
#pragma once

#include <string>

#include "cli/commands.h"

namespace shardplan::cli {

/// `where`: what errors call it.
Result<PlanText> plan_argument(const std::string& typed, const std::string& where);

}  // namespace shardplan::cli
