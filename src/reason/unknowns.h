// What the model does not know about an answer, with a magnitude where published data gives one.
//
//   unknowns(question, plan, band)   // {"fragmentation", "...", "1.03 to 1.07 times the allocated memory
//   ..."}
//
// Not here: risks that the model does see (failure_modes.h).
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// `plan` = the best one, or none when nothing fits; `band` = of its step, or none.
std::vector<Unknown> unknowns(const Question& question, const Plan* plan, const ErrorBand* band);

}  // namespace shardplan
