// Room for the cache on a GPU that serves, what a request keeps in it, and the tokens that it holds.
//
// An engine loads the weights, runs once at its largest batch to see the peak, and gives the cache what its
// share leaves. Worked value: 0.9 of 79.19 GiB less 12.55 of weights, 0.16 outside the allocator and a peak
// of 2.38 leaves 56.18 GiB.
//
// Not here: what each engine's share is of (catalog/serving_memory.h), how weights and caches are cut
// (estimate/serve_memory.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

struct StoredWeights {
  static constexpr FormulaInfo info{"serving.weights",
                                    "weights of one kind on a GPU",
                                    {"pope2022", "sec. 2, memory cost of loading weights"},
                                    "bits of a weight have its share of a block's scale in them"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> element;
  };
  static constexpr std::array<std::string_view, 2> symbols{"Psi", "b"};
  static constexpr std::array<std::string_view, 2> inputs{"weights of the kind on a GPU",
                                                          "bytes of a weight, scales in"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.element;
  }
  static constexpr std::array examples{Example<StoredWeights>{
      {ratio(70e9), bytes(0.5625)}, 39.375e9, "70 B of 4 bits with a scale of 8 bits for each 16: 4.5 bits"}};
};

struct KvBytesPerToken {
  static constexpr FormulaInfo info{
      "serving.kv_bytes_per_token",
      "key-value cache of one token on a GPU, in layers of one kind",
      {"kwon2023", "sec. 3, large KV cache"},
      "a rank has at least one key-value head; latents are whole on every rank"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> elements;
    Bytes<N> element;
  };
  static constexpr std::array<std::string_view, 2> symbols{"w_kv", "e"};
  static constexpr std::array<std::string_view, 2> inputs{
      "key and value elements of a token on a GPU, all layers of the kind", "bytes of an element"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.elements * in.element;
  }
  static constexpr std::array examples{
      Example<KvBytesPerToken>{
          {ratio(40 * 10240), bytes(2)}, 819200.0, "OPT-13B: 2 x 5120 x 40 layers x 2 bytes = 800 KiB"},
      Example<KvBytesPerToken>{{ratio(61 * 576), bytes(2)},
                               70272.0,
                               "DeepSeek-V3: 61 layers x (512 + 64) x 2 bytes, on every rank"}};
};

struct RequestCache {
  static constexpr FormulaInfo info{
      "serving.request_cache",
      "cache of one request on a GPU, in layers of one kind",
      {"kwon2023", "sec. 3, large KV cache"},
      "a layer with a window keeps no more than it; keys and values of every other token stay"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> kept;
    Bytes<N> token;
  };
  static constexpr std::array<std::string_view, 2> symbols{"s", "k_kv"};
  static constexpr std::array<std::string_view, 2> inputs{"tokens that are kept of it",
                                                          "cache of a token on a GPU, layers of the kind"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.kept * in.token;
  }
  static constexpr std::array examples{
      Example<RequestCache>{{ratio(2048), bytes(4718592)},
                            9663676416.0,
                            "175B: 2048 x 2 x 12288 x 96 layers x 2 bytes on one GPU: 9 GiB"}};
};

struct WarmUpTokens {
  static constexpr FormulaInfo info{
      "serving.warm_up_tokens",
      "peak of the warm-up, in the layers",
      {"vllm-worker", "gpu_worker.py: determine_available_memory, a run at the most tokens of a step"},
      "of one layer the MLP's products and three hidden vectors are alive, in 16 bits"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> widths;
    Bytes<N> element;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n", "w", "b"};
  static constexpr std::array<std::string_view, 3> inputs{
      "tokens of a step at most", "three MLP widths on a GPU and three hidden sizes", "bytes of an element"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.tokens * in.widths * in.element;
  }
  static constexpr std::array examples{
      Example<WarmUpTokens>{{ratio(20000), ratio(3 * 14336 + 3 * 4096), bytes(2)},
                            2211840000.0,
                            "Llama 3.1 8B at 20,000 tokens: 2.06 GiB, 2.07 as vLLM printed",
                            1e-9}};
};

struct WarmUpSampler {
  static constexpr FormulaInfo info{
      "serving.warm_up_sampler",
      "peak of the warm-up, in the sampler",
      {"vllm-worker", "gpu_model_runner.py: a run of the sampler at the most requests"},
      "copies of the logits of every request; the bytes of one are measured"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> requests;
    Ratio<N> vocabulary;
    Bytes<N> element;
  };
  static constexpr std::array<std::string_view, 3> symbols{"r", "V", "b"};
  static constexpr std::array<std::string_view, 3> inputs{"requests at once at most", "words",
                                                          "bytes for each request and word"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.requests * in.vocabulary * in.element;
  }
  static constexpr std::array examples{Example<WarmUpSampler>{{ratio(1024), ratio(201088), bytes(39.5)},
                                                              8133607424.0,
                                                              "gpt-oss: 7.57 GiB, 7.38 as vLLM printed",
                                                              1e-9}};
};

struct CachePool {
  static constexpr FormulaInfo info{"serving.cache_pool",
                                    "room for the cache on a GPU: a share of all",
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

struct CachePoolOfFree {
  static constexpr FormulaInfo info{"serving.cache_pool_of_free",
                                    "room for the cache on a GPU: a share of what is free, less the weights",
                                    {"sglang", "model_runner.py: profile_max_num_token"},
                                    "prompts and graphs live in the rest"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> memory;
    Bytes<N> outside;
    Ratio<N> share;
    Bytes<N> weights;
  };
  static constexpr std::array<std::string_view, 4> symbols{"M", "X", "u", "W"};
  static constexpr std::array<std::string_view, 4> inputs{"memory", "outside the allocator", "share",
                                                          "weights"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return (in.memory - in.outside) * in.share - in.weights;
  }
  static constexpr std::array examples{
      Example<CachePoolOfFree>{{gibibytes(80), gibibytes(0), ratio(0.875), gibibytes(30)},
                               42949672960.0,
                               "70 of 80 GiB less 30 of weights: 40 GiB"}};
};

struct CachePoolAfter {
  static constexpr FormulaInfo info{"serving.cache_pool_after",
                                    "room for the cache on a GPU: a share of what the rest leaves",
                                    {"tensorrt-llm", "reference/memory: free_gpu_memory_fraction"},
                                    "a share of what is free when weights and the largest step are there"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> memory;
    Bytes<N> weights;
    Bytes<N> peak;
    Bytes<N> outside;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 5> symbols{"M", "W", "A", "X", "u"};
  static constexpr std::array<std::string_view, 5> inputs{
      "memory", "weights", "peak of the warm-up beside them", "outside the allocator", "share"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return (in.memory - in.weights - in.peak - in.outside) * in.share;
  }
  static constexpr std::array examples{
      Example<CachePoolAfter>{{gibibytes(80), gibibytes(30), gibibytes(9), gibibytes(1), ratio(0.9)},
                              38654705664.0,
                              "0.9 of 40 GiB: 36 GiB"}};
};

struct CachePoolOfReserve {
  static constexpr FormulaInfo info{"serving.cache_pool_of_reserve",
                                    "room for the cache on a GPU: what weights leave of the usable memory",
                                    {"kwon2023", "sec. 1, fig. 1: memory that the parameters leave"},
                                    "no engine: nothing but the reserve is kept beside weights and cache"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> usable;
    Bytes<N> weights;
  };
  static constexpr std::array<std::string_view, 2> symbols{"U", "W"};
  static constexpr std::array<std::string_view, 2> inputs{"usable memory", "weights"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.usable - in.weights;
  }
  static constexpr std::array examples{Example<CachePoolOfReserve>{
      {gibibytes(50), gibibytes(41)}, 9663676416.0, "9 GiB: eight requests of 2,048 tokens of 175B over 8"}};
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
    const Bytes<N> nothing{N(0)};
    return floor(max(in.pool, nothing) / (in.token * in.block)) * in.block;
  }
  static constexpr std::array examples{
      Example<PoolTokens>{{gibibytes(0.71), bytes(131072), ratio(256)},
                          5632,
                          "Llama 3.1 8B on a v5e chip: 22 pages of 256 tokens, as vLLM printed"},
      Example<PoolTokens>{{gibibytes(-1), bytes(131072), ratio(16)}, 0, "weights are more than the share"}};
};

struct RequestsAtOnce {
  static constexpr FormulaInfo info{"serving.requests_at_once",
                                    "requests that the caches of a replica hold",
                                    {"kwon2023", "sec. 1, fig. 1: memory that the parameters leave"},
                                    "whole requests at their full length; no shared prefixes"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> pool;
    Bytes<N> request;
    Ratio<N> data;
  };
  static constexpr std::array<std::string_view, 3> symbols{"P", "k_r", "d"};
  static constexpr std::array<std::string_view, 3> inputs{
      "room for the cache on a GPU", "cache of a request on a GPU", "groups with requests of their own"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    const Bytes<N> nothing{N(0)};
    return floor(max(in.pool, nothing) / in.request) * in.data;
  }
  static constexpr std::array examples{Example<RequestsAtOnce>{
      {gibibytes(9), bytes(1207959552), ratio(1)}, 8.0, "9 GiB / (2048 x 4.5 MiB / 8)"}};
};

}  // namespace shardplan
