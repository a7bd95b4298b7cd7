// The published runs nearest to a plan.
//
//   nearest_measured(evidence, run_profile(question, plan), 3)   // nearest first; fewer where there are
//   fewer
//
// The distance counts doublings: of the parameters, of the GPUs and of the tokens a GPU has in a step.
// Another GPU, another architecture, another precision and another framework count as one each. Dense models
// and models with experts are never near one another.
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

inline constexpr std::size_t kNearestRuns = 3;

double run_distance(const RunProfile& a, const RunProfile& b);

std::vector<NearRun> nearest_measured(const Evidence& evidence, const RunProfile& run,
                                      std::size_t most = kNearestRuns);

}  // namespace shardplan
