// Time of the work of one rank: matrix products, attention cores, memory-bound passes, the launch floor, the
// optimizer.
//
// A roofline with a few efficiencies for each device (catalog/devices.json); none for a model or a run.
// Worked value: a 4096 x 8192 x 10240 product at 400 TFLOP/s achieved takes 1.718 ms.
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace work {
// A multiply-add is two FLOP.
inline constexpr double kMultiplyAdd = 2;
// FLOP of fused attention's backward pass over its forward pass: five products of the score shape instead of
// two.
inline constexpr double kAttentionBackward = 2.5;
// A causal query meets half of the keys on average.
inline constexpr double kCausalShare = 0.5;
// HBM bytes of one training step of AdamW for each parameter held: read gradient, master weight and two
// moments in fp32, write the last three and the 16-bit weight.
inline constexpr double kOptimizerTraffic = 30;
}  // namespace work

/// One matrix product, tokens x in times in x out, on `groups` equal groups (experts).
struct GemmTime {
  static constexpr FormulaInfo info{
      "compute.gemm",
      "matrix product",
      {"williams2009", "attainable performance: min(peak, bandwidth x operational intensity)"},
      "math and memory traffic overlap; the rate falls as k / (k + k_half) for short inner "
      "dimensions"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> groups;
    Ratio<N> m;
    Ratio<N> n;
    Ratio<N> k;
    FlopsPerSecond<N> rate;  // peak x efficiency
    Ratio<N> k_half;
    Ratio<N> tiles;  // TileSlowdown
    Bytes<N> element;
    BytesPerSecond<N> bandwidth;  // HBM x efficiency
  };
  static constexpr std::array<std::string_view, 9> symbols{"G", "m", "n", "k", "P", "k_half", "q", "e", "W"};
  static constexpr std::array<std::string_view, 9> inputs{
      "groups: experts, else 1",
      "rows: tokens",
      "outputs",
      "inner dimension",
      "rate: peak x efficiency",
      "inner dimension at which half of the rate is reached",
      "slowdown by tiles and waves",
      "bytes of an element",
      "bandwidth: HBM x efficiency"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Flops<N> multiply_add{N(work::kMultiplyAdd)};
    const auto math = named("math", in.groups * in.m * in.n * in.k * multiply_add / in.rate *
                                        ((in.k + in.k_half) / in.k) * in.tiles);
    const auto traffic =
        named("memory", in.groups * (in.m * in.k + in.k * in.n + in.m * in.n) * in.element / in.bandwidth);
    return max(math, traffic);
  }
  static constexpr std::array examples{
      Example<GemmTime>{{ratio(1), ratio(4096), ratio(10240), ratio(8192), teraflops_per_s(400), ratio(0),
                         ratio(1), bytes(2), terabytes_per_s(5.3)},
                        0.001717986918,
                        "2 x 4096 x 10240 x 8192 / 400e12",
                        1e-9},
      Example<GemmTime>{
          {ratio(1), ratio(1), ratio(10240), ratio(8192), teraflops_per_s(400), ratio(0), ratio(1), bytes(2),
           terabytes_per_s(5.3)},
          3.166208e-05,
          "one token reads the whole weight: (8192 + 8192 x 10240 + 10240) x 2 bytes / 5.3 TB/s",
          1e-9}};
};

/// softmax(Q K^T) V of one micro-batch, forward.
struct AttentionTime {
  static constexpr FormulaInfo info{
      "compute.attention",
      "fused attention core, forward",
      {"dao2023", "sec. 4.1: FLOP count, halved when causal"},
      "causal: half of the score matrix; a window bounds the keys a query meets"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;  // queries on this rank
    Ratio<N> keys;    // keys a query meets at most
    Ratio<N> heads;   // on this rank
    Ratio<N> dims;    // query-key plus value dimension of a head
    Ratio<N> causal;  // share of the keys met on average
    FlopsPerSecond<N> rate;
  };
  static constexpr std::array<std::string_view, 6> symbols{"T", "s", "a", "d", "c", "P"};
  static constexpr std::array<std::string_view, 6> inputs{"tokens: queries on this rank",
                                                          "keys: keys a query meets at most",
                                                          "heads: on this rank",
                                                          "dims: query-key plus value dimension of a head",
                                                          "causal: share of the keys met on average",
                                                          "rate"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Flops<N> multiply_add{N(work::kMultiplyAdd)};
    return in.tokens * in.keys * in.heads * in.dims * in.causal * multiply_add / in.rate;
  }
  static constexpr std::array examples{Example<AttentionTime>{
      {ratio(4096), ratio(4096), ratio(32), ratio(256), ratio(0.5), teraflops_per_s(400)},
      0.00034359738368,
      "4 s^2 h / 2 FLOP with h = 32 x 128: 137.4 GFLOP / 400 TFLOP/s",
      1e-9}};
};

/// Norms, rotary embedding, residual adds, activation functions: passes over HBM.
struct MemoryBoundTime {
  static constexpr FormulaInfo info{"compute.memory_bound",
                                    "passes over memory of one layer, forward",
                                    {"williams2009", "attainable performance, memory side"},
                                    "each kernel reads its inputs and writes its outputs once"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden_passes;  // reads and writes of the residual width
    Ratio<N> hidden;
    Ratio<N> tensor_sequence;
    Ratio<N>
        inner_elements;  // reads and writes inside the tensor-parallel region, elements a token on this rank
    Bytes<N> element;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 7> symbols{"T", "r", "h", "t_s", "w", "e", "W"};
  static constexpr std::array<std::string_view, 7> inputs{
      "tokens",
      "hidden passes: reads and writes of the residual width",
      "hidden size",
      "degree that divides the sequence: tensor parallel with sequence parallelism, else 1",
      "inner elements: reads and writes inside the tensor-parallel region, elements a token on this rank",
      "bytes of an element",
      "bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.tokens * (in.hidden_passes * in.hidden / in.tensor_sequence + in.inner_elements) * in.element /
           in.bandwidth;
  }
  static constexpr std::array examples{Example<MemoryBoundTime>{
      {ratio(4096), ratio(12), ratio(8192), ratio(1), ratio(36864), bytes(2), terabytes_per_s(2)},
      0.000553648128,
      "4096 x (12 x 8192 + 36864) x 2 bytes / 2 TB/s",
      1e-9}};
};

/// Kernels cannot start faster than the host launches them.
struct LaunchFloor {
  static constexpr FormulaInfo info{
      "compute.launch_floor",
      "time lost to kernel launches",
      {"shardplan", "max of device time and host time"},
      "one host thread launches kernel after kernel; the device waits when it is faster"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> device;
    Ratio<N> kernels;
    Seconds<N> launch;
  };
  static constexpr std::array<std::string_view, 3> symbols{"t_d", "n_k", "t_k"};
  static constexpr std::array<std::string_view, 3> inputs{"device", "kernels", "launch"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return max(in.kernels * in.launch - in.device, Seconds<N>(N(0.0)));
  }
  static constexpr std::array examples{
      Example<LaunchFloor>{
          {microseconds(100), ratio(22), microseconds(5)}, 1e-5, "22 launches of 5 us beside 100 us", 1e-9},
      Example<LaunchFloor>{
          {milliseconds(1), ratio(22), microseconds(5)}, 0.0, "the device is the slower one"}};
};

/// The optimizer's pass over the parameters that this rank updates.
struct OptimizerTime {
  static constexpr FormulaInfo info{
      "compute.optimizer",
      "optimizer step",
      {"williams2009", "attainable performance, memory side"},
      "fused AdamW: one read of gradient, master and moments, one write of the last three and "
      "the 16-bit weight"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "W"};
  static constexpr std::array<std::string_view, 2> inputs{"parameters", "bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.parameters * Bytes<N>(N(work::kOptimizerTraffic)) / in.bandwidth;
  }
  static constexpr std::array examples{Example<OptimizerTime>{
      {ratio(1e9), terabytes_per_s(3)}, 0.01, "1 B parameters x 30 bytes / 3 TB/s", 1e-9}};
};

}  // namespace shardplan
