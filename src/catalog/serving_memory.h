// How a serving engine turns a GPU's memory into room for the cache.
//
//   const ServingMemory& m = *find_serving_memory(catalog, "vllm", "--engine");   // blocks of 16 tokens
//
// Data: catalog/serving_memory.json. Not here: the equations (cost/serving_memory.h), the time of a token
// (serving_time.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/device.h"
#include "catalog/source.h"

namespace shardplan {

/// Of what the engine's share is: vLLM of the whole memory, SGLang of what is free before the weights are
/// there, TensorRT-LLM of what is free afterwards; without an engine all that the reserve leaves.
enum class PoolRule { kOfTotal, kOfFreeBefore, kOfFreeAfter, kReserve };

struct ServingMemory {
  std::string name;  // of the engine
  std::vector<std::string> aliases;
  PoolRule rule = PoolRule::kReserve;
  Source rule_source;
  std::string share_flag;           // "--gpu-memory-utilization"
  Sourced<Ratio<>> share;           // its default
  Sourced<Ratio<>> block;           // tokens that are handed out together
  Sourced<Ratio<>> requests;        // that the engine lets run at once
  Sourced<Ratio<>> small_requests;  // the same on GPUs of less memory than `large`
  Sourced<Bytes<>> large;
  Sourced<Ratio<>> prompt_tokens;      // that a step computes at most
  Sourced<Bytes<>> sampler;            // of the warm-up's peak, for each request and word of the vocabulary
  Sourced<Bytes<>> outside_one;        // not in the allocator: context; on one GPU
  Sourced<Bytes<>> outside_several;    // with communicators
  Sourced<Bytes<>> graphs;             // of captured steps, beyond the share
  std::vector<std::int64_t> captured;  // batches whose steps are captured; others are padded to the next one
  Source captured_source;
};

/// What an engine was told beside the model, or takes by itself.
struct EngineLimits {
  Sourced<Ratio<>> share;          // of the memory, by the engine's rule
  Sourced<Ratio<>> requests;       // at once of a group of attention; 0 = no limit
  Sourced<Ratio<>> prompt_tokens;  // of a step; 0 = whole prompts
};
/// The defaults of an engine on a GPU.
EngineLimits default_limits(const ServingMemory& engine, const Device& device);

/// The batch that a captured step computes for so many sequences; the batch itself beyond the largest one.
double captured_batch(const ServingMemory& engine, double sequences);

}  // namespace shardplan
