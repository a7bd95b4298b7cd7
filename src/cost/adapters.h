// Low-rank adapters on a frozen base: their parameters, the base's width in blocks, what the step keeps.
//
// An adapter beside a product of `in` inputs and `out` outputs is two matrices, r x in and out x r. The base
// has no gradient and no optimizer state. Worked value: rank 8 beside the query and value projections of
// Llama-2-7B is 4,194,304 parameters.
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

/// Both matrices of one adapter on one rank.
struct AdapterParameters {
  static constexpr FormulaInfo info{
      "memory.adapters.parameters",
      "parameters of adapters on one rank",
      {"hu2021", "sec. 4.1: W + BA, B of d x r, A of r x k"},
      "one adapter beside each target; the side that tensor parallelism does not divide is whole on every rank"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> rank;
    Ratio<N> widths;
  };
  static constexpr std::array<std::string_view, 2> symbols{"r", "w"};
  static constexpr std::array<std::string_view, 2> inputs{
      "rank", "inputs and outputs of the adapted products on the rank, summed"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return in.rank * in.widths;
  }
  static constexpr std::array examples{
      Example<AdapterParameters>{{ratio(8), ratio(32 * 2 * 8192)},
                                 4194304.0,
                                 "Llama-2-7B, query and value of 32 layers: the count that LitGPT prints"}};
};

/// A weight in blocks that share a scale, the scales in blocks of their own.
struct BlockWidth {
  static constexpr FormulaInfo info{
      "memory.adapters.block_width",
      "bytes of a weight kept in blocks",
      {"dettmers2023", "sec. 3: a 32-bit constant for 64 weights is 0.5 bits; 8/64 + 32/(64 x 256) = 0.127"},
      "every block full"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> bits;
    Ratio<N> block;
    Ratio<N> scale_bits;
    Ratio<N> scales_block;
    Ratio<N> second_scale_bits;
  };
  static constexpr std::array<std::string_view, 5> symbols{"b", "B", "b_1", "B_1", "b_2"};
  static constexpr std::array<std::string_view, 5> inputs{"bits of a weight", "weights of a block",
                                                          "bits of a scale", "scales of a second block",
                                                          "bits of a second scale"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto scales =
        named("bits of scales", (in.scale_bits + in.second_scale_bits / in.scales_block) / in.block);
    return (in.bits + scales) * kept::constant<N>(kept::kBit);
  }
  static constexpr std::array examples{
      Example<BlockWidth>{{ratio(4), ratio(64), ratio(32), ratio(1), ratio(0)}, 0.5625, "NF4: 4.5 bits"},
      Example<BlockWidth>{{ratio(4), ratio(64), ratio(8), ratio(256), ratio(32)},
                          0.515869140625,
                          "NF4 with double quantization: 4.127 bits"}};
};

/// What the first matrix of each adapter hands to the second.
struct AdapterActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.adapters",
      "inner outputs that adapters keep",
      {"hu2021", "sec. 4.1: h = W x + B A x"},
      "16-bit; no dropout in the adapter; its input is the product's own, counted where it is kept"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> rank;
    Ratio<N> adapters;
  };
  static constexpr std::array<std::string_view, 3> symbols{"T", "r", "n_a"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens", "rank",
                                                          "adapters of a layer that a token meets"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.tokens * in.rank * in.adapters * kept::constant<N>(kept::kActivation);
  }
  static constexpr std::array examples{
      Example<AdapterActivations>{{ratio(4096), ratio(16), ratio(7)},
                                  917504.0,
                                  "rank 16 beside seven products: 4096 x 16 x 7 x 2 bytes"}};
};

/// A base weight of few bits is widened for the product that reads it.
struct WidenedWeight {
  static constexpr FormulaInfo info{
      "memory.transient.widened_weight",
      "one base weight in 16 bits",
      {"dettmers2023", "sec. 3: the weight is dequantized to the 16-bit computation type"},
      "one product at a time; the largest"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> elements;
  };
  static constexpr std::array<std::string_view, 1> symbols{"n_w"};
  static constexpr std::array<std::string_view, 1> inputs{"elements of the largest weight on the rank"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.elements * kept::constant<N>(kept::kActivation);
  }
  static constexpr std::array examples{Example<WidenedWeight>{
      {ratio(2 * 4096 * 14336.0)}, 234881024.0, "llama3-8b, gate and up together: 8192 x 14336 x 2 bytes"}};
};

/// The time of the same.
struct WidenTime {
  static constexpr FormulaInfo info{
      "compute.widen_weight",
      "base weight read in few bits and written in 16",
      {"dettmers2023", "sec. 3: the weight is dequantized to the 16-bit computation type"},
      "a kernel of its own before the product, in each pass; bound by memory"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> elements;
    Bytes<N> width;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n_w", "k_w", "W"};
  static constexpr std::array<std::string_view, 3> inputs{"weights on the rank", "bytes of one", "bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.elements * (in.width + kept::constant<N>(kept::kActivation)) / in.bandwidth;
  }
  static constexpr std::array examples{Example<WidenTime>{
      {ratio(1e9), bytes(0.5625), terabytes_per_s(2)}, 0.00128125, "1 B weights: 2.5625 GB over 2 TB/s"}};
};

}  // namespace shardplan
