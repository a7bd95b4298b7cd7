// The answer of `shardplan serve`, as text and as JSON, from one value.
#pragma once

#include <string>
#include <vector>

#include "reason/serve_answer.h"
#include "report/explain.h"
#include "report/json_values.h"

namespace shardplan {

std::string serve_text(const ServeAnswer& answer);
Json serve_json(const ServeAnswer& answer);
/// The front between tokens of a GPU and tokens of a user: a table, and a picture.
std::string serve_front_csv(const ServeAnswer& answer);
std::string serve_front_svg(const ServeAnswer& answer);

/// What text and page say alike: "tp 8, 2 replicas".
std::string serve_plan_words(const ServePlan& plan);
std::string reserve_words(const Cluster& cluster);
/// Of the load's cache, of all that the cache holds.
std::string cache_words(const ServeAnswer& answer);
std::string capacity_words(const ServeAnswer& answer);
std::string load_words(const ServeAnswer& answer);
/// "8 in 10 of 419 measured runs of dense took 0.92 to 1.12 times the prediction"; empty without a band.
std::string serve_band_words(const ServeAnswer& answer);
/// Of one of a token's all-reduces.
std::string all_reduce_words(const AllReduces<>& reduces);
/// "does not fit", "misses the limit", or nothing.
const char* verdict_words(const ServePlan& plan);

/// A term of a sum; what hides beside another has no part in it.
struct ServeTerm {
  const char* name;  // in words
  const char* id;    // of JSON
  Seconds<> time;
  bool hidden = false;
  std::string note = {};
};
/// Those that are not nothing; together they are the time of a token, of the time to the first one.
std::vector<ServeTerm> token_terms(const ServePlan& plan);
std::vector<ServeTerm> first_token_terms(const ServePlan& plan);

/// The cost that is explained, of the plan that is shown.
ServeCost<Traced> traced_cost(const ServeAnswer& answer);
/// The results that the answer shows of a plan, for --explain.
TraceRoots serve_roots(const ServeAnswer& answer, const ServeCost<Traced>& cost);

}  // namespace shardplan
