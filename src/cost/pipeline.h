// Closed forms of the pipeline: steady work, bubble, imbalance. arXiv:2104.04473 section 2.2.
#pragma once

#include "formula/formula.h"

namespace shardplan {

/// Idle time of a rank while the pipeline fills and drains.
struct PipelineBubble {
  static constexpr FormulaInfo info{"pipeline.bubble",
                                    "pipeline bubble",
                                    {"narayanan2021", "secs. 2.2.1 and 2.2.2"},
                                    "1F1B, GPipe (v = 1) or interleaved 1F1B; stages of equal time"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> chunks_per_rank;
    Seconds<N> micro_batch;  // forward and backward of one micro-batch on one rank
  };
  static constexpr std::array<std::string_view, 3> symbols{"p", "v", "t"};
  static constexpr std::array<std::string_view, 3> inputs{
      "stages", "chunks per rank", "micro batch: forward and backward of one micro-batch on one rank"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.stages - Ratio<N>(N(1.0))) / in.chunks_per_rank * in.micro_batch;
  }
  static constexpr std::array examples{
      Example<PipelineBubble>{{ratio(4), ratio(1), milliseconds(3)}, 0.009, "(p - 1)(t_f + t_b)"},
      Example<PipelineBubble>{{ratio(4), ratio(2), milliseconds(3)}, 0.0045, "interleaving by 2 halves it"}};
};

/// What the slowest stage adds over the average one, for every micro-batch.
struct StageImbalance {
  static constexpr FormulaInfo info{
      "pipeline.imbalance",
      "waiting for the slowest stage",
      {"shardplan", "m micro-batches at the pace of the slowest stage instead of the average"},
      "steady state: each micro-batch passes at the pace of the slowest stage"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> micro_batches;
    Seconds<N> slowest;
    Seconds<N> average;
  };
  static constexpr std::array<std::string_view, 3> symbols{"m", "t_max", "t_avg"};
  static constexpr std::array<std::string_view, 3> inputs{"micro batches", "slowest", "average"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.micro_batches * max(in.slowest - in.average, Seconds<N>(N(0.0)));
  }
  static constexpr std::array examples{
      Example<StageImbalance>{{ratio(8), milliseconds(5), milliseconds(4)}, 0.008, "8 x 1 ms", 1e-9}};
};

/// Activations sent between stages that no compute covers.
struct PipelineSends {
  static constexpr FormulaInfo info{
      "pipeline.sends",
      "sends between pipeline stages",
      {"narayanan2021", "secs. 2.2.2 and 3.2: v sends of b s h; sec. 4.1: 1/t of it with scatter/gather"},
      "each chunk's activation forward and its gradient backward wait for their transfer"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> chunks_per_rank;
    Ratio<N> micro_batches;
    Seconds<N> send;
  };
  static constexpr std::array<std::string_view, 4> symbols{"p", "v", "m", "t_s"};
  static constexpr std::array<std::string_view, 4> inputs{"stages", "chunks per rank", "micro batches",
                                                          "send"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const auto fill = (in.stages - Ratio<N>(N(1.0))) / in.chunks_per_rank;
    return 2.0 * in.chunks_per_rank * (in.micro_batches + fill) * in.send;
  }
  static constexpr std::array examples{Example<PipelineSends>{
      {ratio(4), ratio(1), ratio(8), microseconds(100)}, 0.0022, "2 x (8 + 3) x 100 us", 1e-9}};
};

}  // namespace shardplan
