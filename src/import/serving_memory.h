// catalog/serving_memory.json: what each serving engine keeps for the cache.
//
//   {"engines": [{"name": "vllm", "aliases": ["vLLM"], "rule": "of_total", "rule_source": "...",
//                 "share_flag": "--gpu-memory-utilization", "share": {"value": 0.9, "source": "..."},
//                 "block_tokens": {"value": 16, "source": "..."}}]}
//
// Private to import/.
#pragma once

#include <vector>

#include "catalog/serving_memory.h"
#include "import/sourced_json.h"

namespace shardplan {

std::vector<ServingMemory> read_serving_memories(const JsonNode& root, const Sources& sources);

}  // namespace shardplan
