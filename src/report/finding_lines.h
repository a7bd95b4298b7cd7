// What there is to say about an answer, as lines of text: axes, risks, thresholds, unknowns. Shared by the
// plan's report and the drills'.
//
//   finding_lines(answer)   // "\naxes\n  axis  degree  tier ..."; sections without findings are left out
#pragma once

#include <string>

#include "reason/answer.h"

namespace shardplan {

std::string finding_lines(const Answer& answer);
/// Why nothing fits, and the smallest changes with which something does; empty where that was not found.
std::string nothing_fits_lines(const Answer& answer);
/// "192 GiB", "4,096 tokens", "50 GB/s".
std::string threshold_value(double value, const std::string& unit);

}  // namespace shardplan
