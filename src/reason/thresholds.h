// The values at which one parameter, all else equal, changes the best layout or whether anything fits.
//
//   thresholds(estimator, fixed, result).found   // {"sequence", 4096, 10240, "tokens", "dp64 gives way ..."}
//
// Memory's are exact: one pass finds the best plan at every size of usable memory. The others are scanned in
// steps of a factor (GPU counts node by node first, to the one below which no legal count fits), then
// bisected to the next step of the parameter (128 tokens; 1 % of a bandwidth); both sides of every threshold
// have been searched. A layout is the set of degrees; a change of micro-batch or recomputation alone is none.
// How many searches are made is bounded by plans, not by time, so that the answer is the same everywhere. Not
// here: why (binding.h).
#pragma once

#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

struct Thresholds {
  std::vector<Threshold> found;   // nearest first, by the factor from the current value
  std::vector<std::string> left;  // parameters that were not looked at to the end, as it was stopped
};
Thresholds thresholds(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                      SearchWatch* watch = nullptr);

}  // namespace shardplan
