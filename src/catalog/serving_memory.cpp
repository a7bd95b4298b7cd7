#include "catalog/serving_memory.h"

#include <algorithm>

namespace shardplan {

EngineLimits default_limits(const ServingMemory& engine, const Device& device) {
  const bool small = engine.large.value > bytes(0) &&
                     (device.memory_reported.value < engine.large.value || device.architecture == "Ampere");
  return {engine.share, small ? engine.small_requests : engine.requests, engine.prompt_tokens};
}

double captured_batch(const ServingMemory& engine, double sequences) {
  const auto next = std::find_if(engine.captured.begin(), engine.captured.end(),
                                 [&](std::int64_t batch) { return static_cast<double>(batch) >= sequences; });
  return next == engine.captured.end() ? sequences : static_cast<double>(*next);
}

}  // namespace shardplan
