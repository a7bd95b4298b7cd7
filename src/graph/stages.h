// Which layers a pipeline rank holds.
//
// Layers are dealt to equal chunks as evenly as they go, the earlier chunks one more where they do not; the
// first and the last chunk may be told apart, and are dealt what the plan says. Rank r of p holds
//   chunks r, r + p, r + 2 p, ...   one after the other (v of them when interleaved);
//   chunks r and 2 p - 1 - r        zb-v: down the ranks and up again, so that both ends are on rank 0;
//   chunks r and p - 1 - r          dualpipe: one for each direction, so that every chunk is there twice.
// The embedding is where the first chunk is, the head and loss where the last one is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "catalog/plan.h"

namespace shardplan {

struct LayerRange {
  std::int64_t first = 0, last = 0;  // [first, last)
  std::int64_t count() const { return last - first; }
};

/// Into how many chunks the model is cut.
inline std::int64_t all_chunks(const Plan& plan) {
  if (plan.schedule == Schedule::kZbV) return 2 * std::int64_t{plan.pp};
  return std::int64_t{plan.pp} * plan.interleave;
}

inline int chunks_of_rank(const Plan& plan) {
  return plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe ? 2 : plan.interleave;
}

/// The i-th chunk of a rank.
inline std::int64_t rank_chunk(const Plan& plan, std::int64_t rank, std::int64_t i) {
  if (i == 1 && plan.schedule == Schedule::kZbV) return 2 * std::int64_t{plan.pp} - 1 - rank;
  if (i == 1 && plan.schedule == Schedule::kDualPipe) return plan.pp - 1 - rank;
  return rank + i * plan.pp;
}

inline bool holds_first_chunk(const Plan& plan, std::int64_t rank) {
  return rank == 0 || (plan.schedule == Schedule::kDualPipe && rank == plan.pp - 1);
}
inline bool holds_last_chunk(const Plan& plan, std::int64_t rank) {
  if (plan.schedule == Schedule::kZbV) return rank == 0;
  return rank == plan.pp - 1 || (plan.schedule == Schedule::kDualPipe && rank == 0);
}

/// Of the first and the last chunk, those whose layers the plan tells.
inline std::int64_t chunks_told_apart(const Plan& plan) {
  return (plan.first_layers != Plan::kEven ? 1 : 0) + (plan.last_layers != Plan::kEven ? 1 : 0);
}

/// Whether all chunks hold equally many layers.
inline bool equal_chunks(std::int64_t layers, const Plan& plan) {
  return chunks_told_apart(plan) == 0 && layers % all_chunks(plan) == 0;
}

/// The i-th of equal shares, the earlier ones one more where it does not divide.
inline LayerRange even_share(std::int64_t layers, std::int64_t shares, std::int64_t i) {
  const std::int64_t base = layers / shares, extra = layers % shares;
  const auto start = [&](std::int64_t c) { return c * base + (c < extra ? c : extra); };
  return {start(i), start(i + 1)};
}

/// Layers of chunk `chunk`.
inline LayerRange chunk_layers(std::int64_t layers, const Plan& plan, std::int64_t chunk) {
  const std::int64_t chunks = all_chunks(plan), own = chunks_told_apart(plan);
  if (own == 0) return even_share(layers, chunks, chunk);
  const bool first = plan.first_layers != Plan::kEven, last = plan.last_layers != Plan::kEven;
  const std::int64_t head = first ? plan.first_layers : 0, tail = last ? plan.last_layers : 0;
  if (first && chunk == 0) return {0, head};
  if (last && chunk == chunks - 1) return {layers - tail, layers};
  const LayerRange share = even_share(layers - head - tail, chunks - own, chunk - (first ? 1 : 0));
  return {head + share.first, head + share.last};
}

/// Micro-batches that run through a chunk before its rank turns to the next one.
inline std::int64_t micro_batch_group(const Plan& plan) {
  return plan.micro_batch_group > 0 ? plan.micro_batch_group : plan.pp;
}

/// Those of a chunk that are run again whole: the first ones.
inline LayerRange recomputed_layers(const Plan& plan, const LayerRange& chunk) {
  switch (plan.recompute.kind) {
    case Recompute::Kind::kUniform:
      return chunk;
    case Recompute::Kind::kBlock:
      return {chunk.first, std::min(chunk.last, chunk.first + plan.recompute.layers)};
    default:
      return {chunk.first, chunk.first};
  }
}

}  // namespace shardplan
