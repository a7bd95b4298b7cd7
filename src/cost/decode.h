// Serving a decoder, closed forms: what a token leaves in the cache, what one decode step reads, what a
// prompt computes.
//
// A decode step makes one token for each sequence of the batch. It reads every weight and the whole cache
// once, so it is bound by memory bandwidth; a prompt (prefill) meets its tokens all at once and is bound by
// arithmetic. Worked value: 175 B bf16 weights over 8 GPUs of 5.3 TB/s take 8.25 ms to read.
//
// Not here: tensor-parallel all-reduces (collectives.h), memory that may be used (state.h), queueing and
// batching of requests.
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace decode {
// FLOP of one parameter and token in a forward pass: a multiply and an add.
inline constexpr double kForward = 2;
}  // namespace decode

struct KvBytesPerToken {
  static constexpr FormulaInfo info{
      "decode.kv_bytes_per_token",
      "key-value cache of one token",
      {"kwon2023", "sec. 3, large KV cache"},
      "every layer keeps keys and values of every token; no window, no sharing"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> layers;
    Ratio<N> elements;
    Bytes<N> element;
  };
  static constexpr std::array<std::string_view, 3> symbols{"L", "w_kv", "e"};
  static constexpr std::array<std::string_view, 3> inputs{
      "layers with a cache", "key and value elements of a token in one layer", "bytes of an element"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.layers * in.elements * in.element;
  }
  static constexpr std::array examples{
      Example<KvBytesPerToken>{
          {ratio(40), ratio(10240), bytes(2)}, 819200.0, "OPT-13B: 2 x 5120 x 40 layers x 2 bytes = 800 KiB"},
      Example<KvBytesPerToken>{
          {ratio(96), ratio(24576), bytes(2)}, 4718592.0, "175B: 2 x 12288 x 96 x 2 bytes = 4.5 MiB"}};
};

struct DecodeWeightRead {
  static constexpr FormulaInfo info{"decode.weight_read",
                                    "reading the weights in one decode step",
                                    {"pope2022", "sec. 2, memory cost of loading weights"},
                                    "each weight is read once for the whole batch; dense model"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> element;
    Ratio<N> tensor;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 4> symbols{"Psi", "e", "t", "W"};
  static constexpr std::array<std::string_view, 4> inputs{"parameters", "bytes of a weight",
                                                          "tensor-parallel degree", "HBM bandwidth reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.parameters * in.element / in.tensor / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<DecodeWeightRead>{{ratio(175e9), bytes(2), ratio(8), terabytes_per_s(5.3)},
                                0.008254716981132075,
                                "43.75 GB on each of 8 GPUs / 5.3 TB/s"}};
};

struct DecodeKvRead {
  static constexpr FormulaInfo info{"decode.kv_read",
                                    "reading the key-value cache in one decode step",
                                    {"pope2022", "sec. 2, memory cost of loading the KV cache"},
                                    "heads divided over the group; every sequence has the same context"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Ratio<N> context;
    Bytes<N> token;
    Ratio<N> tensor;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 5> symbols{"b", "s", "k_kv", "t", "W"};
  static constexpr std::array<std::string_view, 5> inputs{"sequences in the batch",
                                                          "tokens of each in the cache", "cache of one token",
                                                          "tensor-parallel degree", "HBM bandwidth reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.batch * in.context * in.token / in.tensor / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<DecodeKvRead>{{ratio(8), ratio(2048), bytes(4718592), ratio(8), terabytes_per_s(5.3)},
                            0.0018233351728301887,
                            "8 x 2048 x 4.5 MiB / 8 GPUs / 5.3 TB/s"}};
};

struct DecodeWeights {
  static constexpr FormulaInfo info{"decode.weights",
                                    "weights on each GPU that serves",
                                    {"shardplan", "every weight once, divided over the group"},
                                    "tensor parallelism divides all weights evenly, norms too; no copy"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> element;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 3> symbols{"Psi", "e", "t"};
  static constexpr std::array<std::string_view, 3> inputs{"parameters", "bytes of a weight",
                                                          "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.element / in.tensor;
  }
  static constexpr std::array examples{Example<DecodeWeights>{
      {ratio(175e9), bytes(2), ratio(8)}, 43.75e9, "175 B in bf16 over 8 GPUs: 40.75 GiB each"}};
};

struct DecodeKvCache {
  static constexpr FormulaInfo info{
      "decode.kv_cache",
      "key-value cache of the batch on each GPU",
      {"kwon2023", "sec. 3, large KV cache"},
      "heads divided over the group; every sequence has the same context; no paging loss"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Ratio<N> context;
    Bytes<N> token;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 4> symbols{"b", "s", "k_kv", "t"};
  static constexpr std::array<std::string_view, 4> inputs{
      "sequences in the batch", "tokens of each in the cache", "cache of one token, all GPUs of the replica",
      "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.batch * in.context * in.token / in.tensor;
  }
  static constexpr std::array examples{Example<DecodeKvCache>{
      {ratio(8), ratio(2048), bytes(4718592), ratio(8)}, 9663676416.0, "8 x 2048 x 4.5 MiB / 8 = 9 GiB"}};
};

struct KvCapacity {
  static constexpr FormulaInfo info{
      "decode.kv_capacity",
      "tokens that the cache of a replica holds",
      {"kwon2023", "sec. 1, fig. 1: memory that the parameters leave"},
      "all that weights and reserve leave holds cache; no blocks, no activations of a prompt"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> usable;
    Bytes<N> weights;
    Ratio<N> tensor;
    Bytes<N> token;
  };
  static constexpr std::array<std::string_view, 4> symbols{"U", "w", "t", "k_kv"};
  static constexpr std::array<std::string_view, 4> inputs{"usable memory of a GPU", "weights on each GPU",
                                                          "tensor-parallel degree",
                                                          "cache of one token, all GPUs of the replica"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    const Bytes<N> nothing{N(0)};
    return floor(max(in.usable - in.weights, nothing) * in.tensor / in.token);
  }
  static constexpr std::array examples{
      Example<KvCapacity>{{gibibytes(50), gibibytes(41), ratio(8), bytes(4718592)},
                          16384.0,
                          "9 GiB on each of 8 GPUs / 4.5 MiB = 8 sequences of 2048 tokens"},
      Example<KvCapacity>{{gibibytes(40), gibibytes(41), ratio(8), bytes(4718592)},
                          0.0,
                          "weights alone are more than what is usable"}};
};

struct MaxConcurrency {
  static constexpr FormulaInfo info{"decode.max_concurrency",
                                    "sequences that the cache holds at once",
                                    {"kwon2023", "sec. 1, fig. 1: memory that the parameters leave"},
                                    "whole sequences, each of the full context; no shared prefixes"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> capacity;
    Ratio<N> context;
  };
  static constexpr std::array<std::string_view, 2> symbols{"C", "s"};
  static constexpr std::array<std::string_view, 2> inputs{"tokens that the cache holds",
                                                          "tokens of each sequence"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    return floor(in.capacity / in.context);
  }
  static constexpr std::array examples{
      Example<MaxConcurrency>{{ratio(16384), ratio(2048)}, 8.0, "16384 / 2048"}};
};

struct DecodeCompute {
  static constexpr FormulaInfo info{
      "decode.compute",
      "arithmetic of one decode step",
      {"kaplan2020", "sec. 2.1, eq. 2.2: 2 N a token, without the context term"},
      "one token a sequence; matrix products of the weights only, attention scores left out"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Ratio<N> parameters;
    Ratio<N> tensor;
    FlopsPerSecond<N> rate;
  };
  static constexpr std::array<std::string_view, 4> symbols{"b", "Psi", "t", "P"};
  static constexpr std::array<std::string_view, 4> inputs{"sequences in the batch", "parameters",
                                                          "tensor-parallel degree", "rate of a GPU"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Flops<N> forward{N(decode::kForward)};
    return in.batch * in.parameters * forward / in.tensor / in.rate;
  }
  static constexpr std::array examples{
      Example<DecodeCompute>{{ratio(8), ratio(175e9), ratio(8), teraflops_per_s(400)},
                             0.000875,
                             "2 x 8 x 175e9 FLOP / (8 x 400 TFLOP/s): a tenth of reading the weights"}};
};

struct PrefillCompute {
  static constexpr FormulaInfo info{
      "decode.prefill_compute",
      "arithmetic of a prompt",
      {"kaplan2020", "sec. 2.1, eq. 2.2: 2 N a token, without the context term"},
      "matrix products of the weights only; attention scores left out"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> parameters;
    Ratio<N> tensor;
    FlopsPerSecond<N> rate;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "Psi", "t", "P"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens of the prompts", "parameters",
                                                          "tensor-parallel degree", "rate of a GPU"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Flops<N> forward{N(decode::kForward)};
    return in.tokens * in.parameters * forward / in.tensor / in.rate;
  }
  static constexpr std::array examples{
      Example<PrefillCompute>{{ratio(2048), ratio(175e9), ratio(8), teraflops_per_s(400)},
                              0.224,
                              "2 x 2048 x 175e9 FLOP / (8 x 400 TFLOP/s)"}};
};

struct DecodeThroughput {
  static constexpr FormulaInfo info{"decode.tokens_per_second",
                                    "tokens a replica makes in a second",
                                    {"shardplan", "one token a sequence and step"},
                                    "the batch is full at every step; no prompt runs between steps"};
  template <class N>
  struct In {
    using Number = N;
    Tokens<N> batch;
    Seconds<N> step;
  };
  static constexpr std::array<std::string_view, 2> symbols{"b", "TPOT"};
  static constexpr std::array<std::string_view, 2> inputs{"tokens a step makes, one a sequence",
                                                          "time of a step"};
  template <class N>
  static constexpr TokensPerSecond<N> eval(const In<N>& in) {
    return in.batch / in.step;
  }
  static constexpr std::array examples{
      Example<DecodeThroughput>{{tokens(8), milliseconds(25)}, 320.0, "8 tokens in 25 ms"}};
};

}  // namespace shardplan
