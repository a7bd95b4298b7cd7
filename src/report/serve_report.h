// The answer of `shardplan serve`, as text and as JSON, from one value.
#pragma once

#include <string>

#include "reason/serve_answer.h"
#include "report/explain.h"
#include "report/json_values.h"

namespace shardplan {

std::string serve_text(const ServeAnswer& answer);
Json serve_json(const ServeAnswer& answer);
/// "does not fit", "misses the limit", or nothing.
const char* verdict_words(const ServePlan& plan);
/// The results that the answer shows of a plan, for --explain.
TraceRoots serve_roots(const DecodeCost<Traced>& cost);

}  // namespace shardplan
