// What an engine would print of a plan when it starts, and what would make it start where it does not; and
// whether runs like it were measured.
//
//   EngineSays says = engine_says(question, plan);
//   says.sentences    // "GPU KV cache size: 174,336 tokens", "Maximum concurrency for 8,192 tokens ..."
//   says.error, says.fixes
//
// Not here: the equations (estimate/serve_memory.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reason/answer.h"
#include "search/serve_search.h"

namespace shardplan {

/// One flag of the engine that makes it start, with what it costs.
struct EngineFix {
  std::string flag;   // "--gpu-memory-utilization 0.95"
  std::string price;  // "2.0 GiB are left for graphs and drift"
};

struct EngineSays {
  std::vector<std::string> sentences;  // nothing without an engine
  std::string error;                   // that it stops with; empty where it starts
  std::vector<EngineFix> fixes;        // each alone, the cheapest first
};
EngineSays engine_says(const ServeQuestion& question, const ServePlan& plan);

/// Measured runs of the same kind of model, GPU and engine.
struct MeasuredDomain {
  std::int64_t runs = 0;
  std::string words;  // "dense on h200 with trtllm: 66 measured runs", "a mixture on b200 with sglang: none"
};
MeasuredDomain measured_domain(const ServeQuestion& question, const Evidence& evidence);

/// "dense", "mixture", "small": as validation names its classes; disaggregated ones are a class of their own.
const char* serving_class(const ServeQuestion& question, bool disaggregated);
RunProfile serve_profile(const ServeQuestion& question, const ServePlan& plan);

}  // namespace shardplan
