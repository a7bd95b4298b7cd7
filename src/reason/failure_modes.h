// What can go wrong with a plan that the estimate calls good, each with the symptom that tells.
//
//   failure_modes(estimator, best, axis_findings(estimator, best))   // {"thin_headroom", "3.1 GiB of 74.0
//   GiB are free; ...", "out of memory after hours ...", "reserved minus allocated bytes ...", above 6.2 GiB}
//
// Tables of kinds (failure_kinds.h); each applies when its condition holds for the plan's own numbers. What
// is said of it and the level at which it has arrived are made from them. Not here: what the model leaves out
// altogether (unknowns.h).
#pragma once

#include <span>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// Whether a run on the question's GPUs is expected to be interrupted so often that it is said.
bool interruptions_expected(const Estimator& estimator);

/// `axes`: what those of the plan need, which is quoted.
std::vector<FailureMode> failure_modes(const Estimator& estimator, const Estimate& best,
                                       std::span<const AxisFinding> axes);

}  // namespace shardplan
