// How the rate of a kernel falls with the shape of its work: whole tiles and waves, few rows, casts.
//
// Factors on the times of cost/compute.h. Worked value: 2048 x 4608 outputs in 128 x 128 tiles are 576
// tiles, 5.33 waves of 108 SMs that take the time of 6.
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace tile {
// Output tiles that libraries choose from, in rows and columns, and what smaller ones lose by loading their
// inputs more often: 128 x widest, 128 x 128, 64 x 128.
inline constexpr double kRows = 128, kColumns = 128, kHalfRows = 64;
inline constexpr double kSquare = 0.93, kHalf = 0.75;
}  // namespace tile

/// Factor on a matrix product's time.
struct TileSlowdown {
  static constexpr FormulaInfo info{
      "compute.gemm.tiles",
      "time of a matrix product over that with full tiles and waves",
      {"nvidia-matmul", "tile quantization, wave quantization"},
      "the best of three tile sizes; a share of the time is not stretched by idle SMs"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> groups;
    Ratio<N> m;
    Ratio<N> n;
    Ratio<N> tile_columns;
    Ratio<N> processors;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 6> symbols{"G", "m", "n", "t_n", "S", "gamma"};
  static constexpr std::array<std::string_view, 6> inputs{"groups: experts, else 1",
                                                          "rows: tokens",
                                                          "outputs",
                                                          "columns of the widest tile",
                                                          "streaming multiprocessors",
                                                          "share of the time that is stretched"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    const auto used = [&](const Ratio<N>& rows, const Ratio<N>& columns) {
      const auto tiles = in.groups * ceil(in.m / rows) * ceil(in.n / columns);
      return in.groups * in.m * in.n / (rows * columns) / (in.processors * ceil(tiles / in.processors));
    };
    const Ratio<N> rows{N(tile::kRows)}, columns{N(tile::kColumns)}, half{N(tile::kHalfRows)};
    const auto widest = used(rows, in.tile_columns);
    const auto square = used(rows, columns) * Ratio<N>(N(tile::kSquare));
    const auto small = used(half, columns) * Ratio<N>(N(tile::kHalf));
    const auto busy = named("share of the tile slots in use", max(max(widest, square), small));
    return one + in.share * (one / busy - one);
  }
  static constexpr std::array examples{
      Example<TileSlowdown>{{ratio(1), ratio(2048), ratio(4608), ratio(128), ratio(108), ratio(1)},
                            1.125,
                            "576 tiles: 6 waves of 108 hold 648",
                            1e-9},
      Example<TileSlowdown>{{ratio(1), ratio(2048), ratio(4608), ratio(128), ratio(108), ratio(0)},
                            1.0,
                            "nothing is stretched"}};
};

/// Factor on the time of experts' products and of attention with few rows.
struct FewRows {
  static constexpr FormulaInfo info{"compute.few_rows",
                                    "time over that with many rows",
                                    {"shardplan", "rate as rows / (rows + half)"},
                                    "each group of rows pays a fixed start"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> rows;
    Ratio<N> half;
  };
  static constexpr std::array<std::string_view, 2> symbols{"m", "m_half"};
  static constexpr std::array<std::string_view, 2> inputs{"rows", "rows at half the rate"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return (in.rows + in.half) / in.rows;
  }
  static constexpr std::array examples{
      Example<FewRows>{{ratio(512), ratio(512)}, 2.0, "as many rows as halve the rate"}};
};

/// Passes over stored attention scores: mask, softmax, dropout.
struct ScorePasses {
  static constexpr FormulaInfo info{
      "compute.attention.scores",
      "memory-bound work on stored attention scores, forward",
      {"korthikanti2022", "sec. 4: softmax and dropout of a s x s score matrix a head"},
      "each kernel reads and writes the whole square"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> keys;
    Ratio<N> heads;
    Ratio<N> passes;
    Bytes<N> element;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 6> symbols{"T", "s", "a", "c", "e", "W"};
  static constexpr std::array<std::string_view, 6> inputs{
      "tokens: queries on this rank", "keys of a sequence", "heads on the rank",
      "reads and writes of a score",  "bytes of a score",   "bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.tokens * in.keys * in.heads * in.passes * in.element / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<ScorePasses>{{ratio(2048), ratio(2048), ratio(12), ratio(4), bytes(2), terabytes_per_s(2)},
                           0.000201326592,
                           "4 passes over 12 heads of 2048 x 2048 scores of 2 bytes at 2 TB/s",
                           1e-9}};
};

/// Reading 16-bit inputs and writing them in the precision of the products, with their scales.
struct CastTime {
  static constexpr FormulaInfo info{
      "compute.cast",
      "casts of one layer's inputs, forward",
      {"micikevicius2022", "sec. 4: tensors are scaled and cast to fp8 before products"},
      "a pass reads or writes two bytes an element"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> elements;
    Ratio<N> passes;
    Bytes<N> element;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 5> symbols{"T", "w", "c", "e", "W"};
  static constexpr std::array<std::string_view, 5> inputs{"tokens", "elements cast, a token on this rank",
                                                          "passes over them", "bytes of an element",
                                                          "bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.tokens * in.elements * in.passes * in.element / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<CastTime>{{ratio(8192), ratio(16384), ratio(2), bytes(2), terabytes_per_s(3.2)},
                        0.0001677721600,
                        "8192 x 16384 elements, 4 bytes each, at 3.2 TB/s",
                        1e-9}};
};

/// Causal attention of the rank that has most of it, where context parallelism deals a sequence's chunks in
/// their order.
struct CausalRingImbalance {
  static constexpr FormulaInfo info{
      "compute.attention.causal_ring",
      "attention of the slowest context-parallel rank over the mean",
      {"brandon2023", "abstract: the workload imbalance of causal attention over a ring"},
      "rank r of n has chunk r and meets all chunks up to its own, half of its own: 2r + 1 half chunks, n on "
      "average; chunks dealt from both ends, or stripes, are even and make it 1"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> ranks;
  };
  static constexpr std::array<std::string_view, 1> symbols{"n"};
  static constexpr std::array<std::string_view, 1> inputs{"context-parallel ranks"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    return (2.0 * in.ranks - one) / in.ranks;
  }
  static constexpr std::array examples{
      Example<CausalRingImbalance>{{ratio(4)}, 1.75, "the last of four: 7 half chunks, 4 on average"},
      Example<CausalRingImbalance>{{ratio(1)}, 1.0, "one rank has all of it"}};
};

/// Waiting for the slowest of many ranks.
struct StragglerWait {
  static constexpr FormulaInfo info{
      "compute.stragglers",
      "wait for the slowest rank",
      {"shardplan", "expected maximum of n normal deviates, about sqrt(2 ln n) of their spread"},
      "ranks' steps differ by chance, independently; every step waits for all"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> step;
    Ratio<N> spread;
    Ratio<N> ranks;
  };
  static constexpr std::array<std::string_view, 3> symbols{"t", "sigma", "n"};
  static constexpr std::array<std::string_view, 3> inputs{"the step without it",
                                                          "spread of one rank's step, of the step", "ranks"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    constexpr double kLn2 = 0.69314718055994531;
    return in.step * in.spread * sqrt(Ratio<N>(N(2.0 * kLn2)) * log2(in.ranks));
  }
  static constexpr std::array examples{
      Example<StragglerWait>{{seconds(10), ratio(0.005), ratio(1024)},
                             0.18616487055,
                             "1024 ranks: sqrt(2 ln 1024) = 3.7233 times 0.5 % of 10 s",
                             1e-9},
      Example<StragglerWait>{{seconds(10), ratio(0.005), ratio(1)}, 0.0, "nobody to wait for"}};
};

}  // namespace shardplan
