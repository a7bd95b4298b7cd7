// The tornado of a step as a table with bars: to the left of its axis what makes the step shorter, to the
// right what makes it longer.
//
//   sensitivity_lines(answer)   // "\nwhat moves the step most ...\n  input  now  low  high ..."; empty
//   without
#pragma once

#include <string>

#include "reason/answer.h"
#include "report/json_values.h"

namespace shardplan {

std::string sensitivity_lines(const Answer& answer);
/// Of a token's time, which is `now`.
std::string token_sensitivity_lines(const std::vector<Sensitivity>& rows, Seconds<> now);
/// The same in SI base units.
Json sensitivity_json(const Answer& answer);

}  // namespace shardplan
