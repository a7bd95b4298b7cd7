// Which layers a pipeline rank holds.
//
// Layers are dealt to pp x interleave chunks as evenly as they go, the earlier chunks one more where they do
// not; rank r holds chunks r, r + pp, r + 2 pp, ... The embedding is on the first chunk, the head and loss on
// the last.
#pragma once

#include <cstdint>

#include "catalog/plan.h"

namespace shardplan {

struct LayerRange {
  std::int64_t first = 0, last = 0;  // [first, last)
  std::int64_t count() const { return last - first; }
};

/// Layers of chunk `chunk` of pp x interleave.
inline LayerRange chunk_layers(std::int64_t layers, const Plan& plan, std::int64_t chunk) {
  const std::int64_t chunks = std::int64_t{plan.pp} * plan.interleave;
  const std::int64_t base = layers / chunks, extra = layers % chunks;
  const auto start = [&](std::int64_t c) { return c * base + (c < extra ? c : extra); };
  return {start(chunk), start(chunk + 1)};
}

}  // namespace shardplan
