// What a replica that serves keeps on each GPU, and the room that an engine then gives to the cache.
//
//   ServeMemory<> m = serve_memory<double>(shape, {.tokens = 9216});
//   m.total_weights(), m.token, m.request    // 16.4 GiB and 40 KiB for 70B in 16 bits over 8 GPUs
//   ServeRoom<> room = serve_room<double>(cluster, engine, shape, m);
//   room.pool, room.tokens, room.requests
//
// Of pipeline stages the fullest counts. Not here: the time of a token (serve_time.h).
#pragma once

#include <array>

#include "catalog/cluster.h"
#include "catalog/serving_memory.h"
#include "estimate/serve_shape.h"
#include "formula/traced.h"

namespace shardplan {

template <class N = double>
struct ServeMemory {
  std::array<Bytes<N>, kWeightKindCount> weights{};  // on a GPU, by kind
  Bytes<N> token;                                    // cache of a token on a GPU, all kinds of layers
  Bytes<N> request;  // cache of a request of the told tokens on a GPU, recurrent states too

  /// Kinds that the model lacks have no part in the sum.
  Bytes<N> total_weights() const {
    Bytes<N> sum{};
    for (const Bytes<N>& kind : weights) {
      if (value_of(kind) > 0) sum = value_of(sum) > 0 ? sum + kind : kind;
    }
    return sum;
  }
};

template <class N>
ServeMemory<N> serve_memory(const ServeShape& shape, double tokens);

template <class N = double>
struct ServeRoom {
  Bytes<N> memory, peak, outside;  // of a GPU; the warm-up's peak beside the weights; not in the allocator
  Bytes<N> pool;                   // for the cache; negative where weights and peak are more than the share
  Ratio<N> tokens;                 // that it holds, in whole blocks
  Ratio<N> requests;               // of the told tokens that all groups of the replica hold
};

template <class N>
ServeRoom<N> serve_room(const Cluster& cluster, const ServingMemory& engine, const EngineLimits& limits,
                        const ServeShape& shape, const ServeMemory<N>& memory);

/// What a share of all memory leaves beside the weights, the warm-up's peak and what is outside the
/// allocator.
Bytes<> cache_pool(Bytes<> memory, Ratio<> share, Bytes<> weights, Bytes<> peak, Bytes<> outside);

/// Tokens that a pool of that many bytes holds.
Ratio<> pool_tokens(const ServingMemory& engine, Bytes<> pool, Bytes<> token);

}  // namespace shardplan
