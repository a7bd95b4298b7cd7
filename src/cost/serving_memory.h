// Room for the cache on a GPU that serves, and the tokens that it holds.
//
// An engine loads the weights, runs once at its largest batch to see the peak, and gives the cache what its
// share leaves. Worked value: 0.9 of 79.19 GiB less 12.55 of weights, 0.16 outside the allocator and a peak
// of 2.38 leaves 56.18 GiB.
//
// Not here: what each engine's share is of (catalog/serving_memory.h), bytes of a token
// (estimate/serve_memory.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

struct CachePool {
  static constexpr FormulaInfo info{"serving.cache_pool",
                                    "room for the cache on a GPU",
                                    {"vllm-worker", "gpu_worker.py: determine_available_memory"},
                                    "a share of the whole memory, less what is there after the warm-up"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> memory;
    Ratio<N> share;
    Bytes<N> weights;
    Bytes<N> peak;
    Bytes<N> outside;
  };
  static constexpr std::array<std::string_view, 5> symbols{"M", "u", "W", "A", "X"};
  static constexpr std::array<std::string_view, 5> inputs{"memory that it is a share of", "share", "weights",
                                                          "peak of the warm-up beside them",
                                                          "outside the allocator: context, communicators"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.memory * in.share - in.weights - in.peak - in.outside;
  }
  static constexpr std::array examples{
      Example<CachePool>{{gibibytes(79.19), ratio(0.9), gibibytes(12.55), gibibytes(2.38), gibibytes(0.16)},
                         60323889414.144,
                         "Llama 2 7B on a card of 80 GB: 56.18 GiB, as vLLM printed",
                         1e-9}};
};

struct PoolTokens {
  static constexpr FormulaInfo info{"serving.pool_tokens",
                                    "tokens that the cache holds",
                                    {"kwon2023", "sec. 4.2: blocks of a fixed number of tokens"},
                                    "blocks are handed out whole; one kind of layer"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> pool;
    Bytes<N> token;
    Ratio<N> block;
  };
  static constexpr std::array<std::string_view, 3> symbols{"P", "k_kv", "b"};
  static constexpr std::array<std::string_view, 3> inputs{"room for the cache", "cache of one token on a GPU",
                                                          "tokens of a block"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    return floor(in.pool / (in.token * in.block)) * in.block;
  }
  static constexpr std::array examples{
      Example<PoolTokens>{{gibibytes(0.71), bytes(131072), ratio(256)},
                          5632,
                          "Llama 3.1 8B on a v5e chip: 22 pages of 256 tokens, as vLLM printed"}};
};

}  // namespace shardplan
