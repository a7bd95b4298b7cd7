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

/// A step at the pace of one stage. The step is the longest of them over all stages.
struct PipelineStagePath {
  static constexpr FormulaInfo info{
      "pipeline.stage_path",
      "step as one stage paces it",
      {"shardplan",
       "a path through the order of operations: what is before and after the stage, its own work, and its waits "
       "for the stages after it while the pipeline fills and drains"},
      "GPipe, 1F1B, interleaved 1F1B, ZB-H1; no step is shorter. Equal to the event simulation for equal stages "
      "with a head on the last; less than it by at most 3 % under 1F1B and 22 % under interleaving where every "
      "pass of every chunk takes a random time"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> micro_batches;
    Seconds<N> micro_batch;  // forward and backward of one micro-batch on the stage
    Seconds<N> around;
    Ratio<N> passes;
    Ratio<N> in_flight;
    Seconds<N> fill_path;
    Seconds<N> fill_work;
    Seconds<N> drain_path;
    Seconds<N> drain_work;
  };
  static constexpr std::array<std::string_view, 9> symbols{"m",   "t_s", "A",   "k",  "n",
                                                           "P_f", "W_f", "P_d", "W_d"};
  static constexpr std::array<std::string_view, 9> inputs{
      "micro-batches",
      "one micro-batch on the stage",
      "around: passes before its first and after its last",
      "passes: forward passes of a step on the stage, all chunks",
      "in flight: forward passes before its first backward pass",
      "fill path: from its first forward to its first backward pass, by the stages after it",
      "fill work: its own forward passes before that",
      "drain path: from the end of its last forward to the end of its last backward pass",
      "drain work: its own passes after that"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Seconds<N> none{N(0.0)};
    const auto fill = named("waits while the pipeline fills", max(in.fill_path - in.fill_work, none));
    const auto drain = named("waits while it drains", max(in.drain_path - in.drain_work, none));
    // With all forward passes before the first backward pass, the two waits are one.
    const auto apart =
        named("1 where the two lie apart, else 0", min(in.passes - in.in_flight, Ratio<N>(N(1.0))));
    const auto idle = max(fill, drain) + apart * min(fill, drain);
    return in.around + in.micro_batches * in.micro_batch + idle;
  }
  static constexpr std::array examples{
      Example<PipelineStagePath>{{ratio(8), milliseconds(3), seconds(0), ratio(8), ratio(4), milliseconds(10),
                                  milliseconds(4), milliseconds(11), milliseconds(8)},
                                 0.033,
                                 "first of 4 equal stages, F = 1, B = 2: (m + p - 1) x 3 ms",
                                 1e-9},
      Example<PipelineStagePath>{{ratio(8), milliseconds(4), milliseconds(9), ratio(8), ratio(1),
                                  milliseconds(1), milliseconds(1), milliseconds(3), milliseconds(3)},
                                 0.041,
                                 "the last, at F = 1, B = 3: 3 x 3 ms before and after, 8 x 4 ms",
                                 1e-9}};
};

/// Activations sent between stages that no compute covers.
struct PipelineSends {
  static constexpr FormulaInfo info{
      "pipeline.sends",
      "sends between pipeline stages",
      {"narayanan2021", "secs. 2.2.2 and 3.2: v sends of b s h; sec. 4.1: 1/t of it with scatter/gather"},
      "each chunk's activation forward and its gradient backward wait for their transfer, on every stage: the "
      "event simulation with sends that block has fewer, as the ends send one way only"};
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
