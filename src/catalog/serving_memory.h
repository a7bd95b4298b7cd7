// How a serving engine turns a GPU's memory into room for the cache.
//
//   const ServingMemory& m = *find_serving_memory(catalog, "vllm", "--engine");   // blocks of 16 tokens
//
// Data: catalog/serving_memory.json. Not here: the equations (cost/serving_memory.h), the time of a token
// (serving_time.h).
#pragma once

#include <string>
#include <vector>

#include "catalog/source.h"

namespace shardplan {

/// Of what the engine's share is: vLLM of the whole memory, SGLang of what is free before the weights are
/// there, TensorRT-LLM of what is free afterwards.
enum class PoolRule { kOfTotal, kOfFreeBefore, kOfFreeAfter };

struct ServingMemory {
  std::string name;  // of the engine
  std::vector<std::string> aliases;
  PoolRule rule = PoolRule::kOfTotal;
  Source rule_source;
  std::string share_flag;  // "--gpu-memory-utilization"
  Sourced<Ratio<>> share;  // its default
  Sourced<Ratio<>> block;  // tokens that are handed out together
};

}  // namespace shardplan
