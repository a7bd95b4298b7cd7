// What the model does not know about an answer, with a magnitude where published data gives one.
//
//   unknowns(question, best, bands)   // {"fragmentation", "...", "1.03 to 1.07 times the allocated memory
//   ..."}
//
// Not here: risks that the model does see (failure_modes.h).
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// `best` = of the best plan, or none when nothing fits.
std::vector<Unknown> unknowns(const Question& question, const Estimate* best, const AnswerBands& bands);

}  // namespace shardplan
