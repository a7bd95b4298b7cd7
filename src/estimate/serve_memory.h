// What a replica that serves keeps on each GPU: weights in the formats they are stored in, and the cache.
//
//   ServeMemory m = serve_memory(model, {.tensor = 8}, format);
//   m.weights, m.token     // 16.4 GiB and 40 KiB for 70B in 16 bits over 8 GPUs
//   pool_tokens(engine, pool, m)
//
// Not here: the warm-up's peak (a measured or assumed figure), the time of a token (serve_time.h).
#pragma once

#include "catalog/serving_memory.h"
#include "estimate/serve_time.h"

namespace shardplan {

struct ServeMemory {
  Bytes<> weights;   // on a GPU, the mean over pipeline stages
  Bytes<> token;     // cache of a token on a GPU, layers that see the whole context
  Bytes<> windowed;  // the same of layers with a window, for tokens inside it
  Bytes<> sequence;  // of recurrent mixers, for each sequence
};

ServeMemory serve_memory(const Model& model, const ServeSplit& split, const ServeFormat& format);

/// What a share of the memory leaves beside the weights, the warm-up's peak and what is outside the
/// allocator.
Bytes<> cache_pool(Bytes<> memory, Ratio<> share, Bytes<> weights, Bytes<> peak, Bytes<> outside);

/// 0 where there is no room.
Ratio<> pool_tokens(const ServingMemory& engine, Bytes<> pool, const ServeMemory& memory);

}  // namespace shardplan
