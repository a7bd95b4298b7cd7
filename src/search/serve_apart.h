// Disaggregated serving: replicas that compute prompts beside replicas that decode, in matched numbers.
//
//   add_apart(question, plans);   // the best pair that the cluster holds, where there is one
//
// Private to search/. Not here: replicas that do both (serve_search.h).
#pragma once

#include <cstdint>
#include <vector>

#include "search/serve_search.h"

namespace shardplan {

/// The best way to share the cluster's GPUs, behind the plans there are; the best that fits where none keeps
/// the limits.
void add_apart(const ServeQuestion& question, std::vector<ServePlan>& plans);

PrefillPool prefill_pool(const ServeQuestion& question, const ServeSplit& split, std::int64_t replicas);
/// Gives a plan that decodes a pool, and what the two carry together.
void join(const ServeQuestion& question, PrefillPool pool, ServePlan& plan);

}  // namespace shardplan
