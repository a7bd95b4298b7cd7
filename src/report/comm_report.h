// The answer of `shardplan comm`, as text and as JSON, from one value.
//
//   comm_text(answer_comm(question));   // "exposed: 553.1 ms does not fit under 466.7 ms; ..."
//
// Not here: the formulas behind it (explain.h with comm_roots).
#pragma once

#include <string>

#include "estimate/comm.h"
#include "report/explain.h"
#include "report/json_values.h"

namespace shardplan {

std::string comm_text(const CommAnswer& answer);
Json comm_json(const CommAnswer& answer);
/// The results whose formulas explain the answer.
TraceRoots comm_roots(const CommCost<Traced>& cost);

}  // namespace shardplan
