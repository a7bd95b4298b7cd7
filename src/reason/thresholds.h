// The values at which one parameter, all else equal, changes the best layout or whether anything fits.
//
//   thresholds(estimator, fixed, result)   // {"sequence", 4096, 10240, "tokens", "dp64 gives way to ..."}
//
// Found by bisection on the full search: both sides of every threshold have been searched. A layout is the
// set of degrees; a change of micro-batch or recomputation alone is none. How many searches are made is
// bounded by plans, not by time, so that the answer is the same everywhere. Not here: why (binding.h).
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// Nearest first, by the factor from the current value.
std::vector<Threshold> thresholds(const Estimator& estimator, const FixedAxes& fixed,
                                  const SearchResult& result);

}  // namespace shardplan
