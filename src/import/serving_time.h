// catalog/serving_time.json: the common constants of the time of a token, and each engine's factors.
//
//   {"all": {"layer_s": {"value": 4.2e-05, "source": "serving-time-fit"}, ...},
//    "engines": [{"name": "vllm", "layer": {"value": 1.2, "source": "serving-time-fit"}, ...,
//                 "prompt_order": "beside", "prompt_order_source": "vllm-chunked-prefill"}]}
//
// Private to import/.
#pragma once

#include <vector>

#include "catalog/serving_time.h"
#include "import/sourced_json.h"

namespace shardplan {

std::vector<ServingTime> read_serving_times(const JsonNode& root, const Sources& sources);

}  // namespace shardplan
