// A collective over a range of sizes as text with a plot, as JSON, and as an SVG drawing.
//
//   comm_sweep_text(sweep_comm(question, *question.sweep));
#pragma once

#include <string>

#include "estimate/comm_sweep.h"
#include "report/json_values.h"

namespace shardplan {

std::string comm_sweep_text(const CommSweep& sweep);
Json comm_sweep_json(const CommSweep& sweep);
/// Time over size, both logarithmic, a mark where another way takes over.
std::string comm_sweep_svg(const CommSweep& sweep);

}  // namespace shardplan
