// What can go wrong with a plan that the estimate calls good, each with the symptom that tells.
//
//   failure_modes(estimator, best)   // {"thin_headroom", "3.1 GiB of 74.0 GiB are free; ...", "out of memory
//   after hours ...", "..."}
//
// A table of kinds; each applies when its condition holds for the plan's own numbers, and its statement is
// made from them. Not here: what the model leaves out altogether (unknowns.h).
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

std::vector<FailureMode> failure_modes(const Estimator& estimator, const Estimate& best);

}  // namespace shardplan
