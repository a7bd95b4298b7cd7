// The answer of `shardplan serve`, as text and as JSON, from one value.
#pragma once

#include <string>

#include "reason/serve_answer.h"
#include "report/explain.h"
#include "report/json_values.h"

namespace shardplan {

std::string serve_text(const ServeAnswer& answer);
Json serve_json(const ServeAnswer& answer);
/// What text and page say alike: "tp 8, 2 replicas".
std::string serve_plan_words(const Plan& plan);
std::string reserve_words(const Cluster& cluster);
/// Of all weights, of the load's cache, of all that the cache holds.
std::string weights_words(const ServeAnswer& answer);
std::string cache_words(const ServeAnswer& answer);
std::string capacity_words(const ServeAnswer& answer);
/// Of one of a token's all-reduces.
std::string all_reduce_words(const DecodeCost<>& cost);
/// "does not fit", "misses the limit", or nothing.
const char* verdict_words(const ServePlan& plan);
/// The results that the answer shows of a plan, for --explain.
TraceRoots serve_roots(const DecodeCost<Traced>& cost);

}  // namespace shardplan
