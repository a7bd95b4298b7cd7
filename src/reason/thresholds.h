// The values at which one parameter, all else equal, changes the best layout or whether anything fits.
//
//   thresholds(estimator, fixed, result).found   // {"sequence", 4096, 10240, "tokens", "dp64 gives way ..."}
//
// Memory's are the first there are (threshold_hbm.h). The others are found among plans that are the best
// somewhere, and confirmed by a search on either side (threshold_scan.h), within a factor of 4 of today's
// value. A sequence, a batch and layers take values that today's degrees divide: the two sides are neighbours
// among them. Where more than four lie before a change, not all are searched, and one that differs alone may
// be passed. A layout is the set of degrees; a change of micro-batch or recomputation alone is none. Not
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

/// By the factor from the current value.
void sort_nearest_first(std::vector<Threshold>& found);

}  // namespace shardplan
