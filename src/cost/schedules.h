// Schedules that split the backward pass into the gradient of the input (B) and that of the weights (W),
// which nothing waits for and which fills what would be idle: zero bubble (ZB-H1, ZB-V) and DualPipe.
//
// F, B and W are the times of one micro-batch on one rank. Alive = micro-batches of one chunk whose
// activations are kept. Not here: 1F1B, GPipe and interleaving (pipeline.h, activations_paper.h), which rank
// holds which chunk (graph/stages.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace schedules {
// Weight gradients that DualPipe has left over to fill what remains of its bubble.
inline constexpr double kDualPipeWeights = 3;
}  // namespace schedules

/// ZB-H1: every rank holds what 1F1B's first one does.
struct InFlightZeroBubble {
  static constexpr FormulaInfo info{
      "pipeline.in_flight.zb_h1",
      "micro-batches with live activations under ZB-H1",
      {"zero-bubble", "repository README, table of schedules: ZB1P keeps 1x the activation memory of 1F1B"},
      "weight gradients of later ranks wait until as many micro-batches are in flight as on the first, and a "
      "waiting one keeps all of its activations: an upper bound, as it needs only inputs and output gradients "
      "of matrix products"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> micro_batches;
  };
  static constexpr std::array<std::string_view, 2> symbols{"p", "m"};
  static constexpr std::array<std::string_view, 2> inputs{"stages", "micro-batches"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return min(in.micro_batches, in.stages);
  }
  static constexpr std::array examples{Example<InFlightZeroBubble>{
      {ratio(4), ratio(8)}, 4.0, "p micro-batches on every rank, as on 1F1B's first"}};
};

/// ZB-V: rank r holds chunks r and 2p - 1 - r of 2p.
struct InFlightV {
  static constexpr FormulaInfo info{
      "pipeline.in_flight.zb_v",
      "micro-batches with live activations of one chunk under ZB-V",
      {"zero-bubble",
       "repository README: two chunks a device in a V, 1x the activation memory of 1F1B on every device"},
      "chunk c of 2p waits for those after it and back; the two of a rank come to 2p halves, the p "
      "micro-batches of 1F1B's first rank; a waiting weight gradient keeps all activations"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> chunk;
    Ratio<N> micro_batches;
  };
  static constexpr std::array<std::string_view, 3> symbols{"p", "c", "m"};
  static constexpr std::array<std::string_view, 3> inputs{"stages", "chunk, from 0 to 2p - 1",
                                                          "micro-batches"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one{N(1.0)};
    const auto down = named("chunks after it", 2.0 * in.stages - one - in.chunk);
    // On the way up the last p chunks hold one more: rank r's second chunk has r + 1 micro-batches.
    const auto alive = value_of(in.chunk) < value_of(in.stages) ? down : down + one;
    return min(in.micro_batches, alive);
  }
  static constexpr std::array examples{
      Example<InFlightV>{{ratio(4), ratio(0), ratio(16)}, 7.0, "rank 0: 7 of its first half"},
      Example<InFlightV>{{ratio(4), ratio(7), ratio(16)}, 1.0, "and 1 of its second: 8 halves, p = 4 wholes"},
      Example<InFlightV>{{ratio(4), ratio(3), ratio(16)}, 4.0, "rank 3: 4 of each half"}};
};

/// DualPipe: rank r holds stage r for one direction and stage p - 1 - r for the other.
struct InFlightDualPipe {
  static constexpr FormulaInfo info{
      "pipeline.in_flight.dualpipe",
      "micro-batches with live activations of one stage under DualPipe",
      {"dualpipe", "repository README, table of bubbles and memory usage: PP + 1"},
      "each direction keeps p - s micro-batches of stage s as 1F1B does, p + 1 in both; half of the "
      "micro-batches go each way"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> stage;
    Ratio<N> micro_batches;
  };
  static constexpr std::array<std::string_view, 3> symbols{"p", "s", "m"};
  static constexpr std::array<std::string_view, 3> inputs{"stages", "stage", "micro-batches"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return min(in.micro_batches / Ratio<N>(N(2.0)), in.stages - in.stage);
  }
  static constexpr std::array examples{
      Example<InFlightDualPipe>{{ratio(8), ratio(0), ratio(20)}, 8.0, "rank 0, downwards: PP"},
      Example<InFlightDualPipe>{{ratio(8), ratio(7), ratio(20)}, 1.0, "rank 0, upwards: 1, together PP + 1"}};
};

struct ZeroBubbleH1Bubble {
  static constexpr FormulaInfo info{
      "pipeline.bubble.zb_h1",
      "pipeline bubble under ZB-H1",
      {"zero-bubble", "sec. 2.3 and table 2: (p-1)(F + B - W), where F, B, W are near each other"},
      "stages of equal time; sends hidden; the order made by hand, whose rank r keeps r weight gradients back: a "
      "weight gradient fills no more than the forward pass that it stands in for, and with fewer micro-batches "
      "than stages there are fewer of them; equal to the event simulation for any F, B, W and m"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> micro_batches;
    Seconds<N> forward;
    Seconds<N> input_backward;
    Seconds<N> weight_backward;
  };
  static constexpr std::array<std::string_view, 5> symbols{"p", "m", "F", "B", "W"};
  static constexpr std::array<std::string_view, 5> inputs{"stages", "micro-batches", "forward",
                                                          "gradient of the input", "gradient of the weights"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one{N(1.0)};
    const auto filled = named("weight gradients that fill", min(in.stages, in.micro_batches) - one);
    return (in.stages - one) * (in.forward + in.input_backward) -
           filled * min(in.forward, in.weight_backward);
  }
  static constexpr std::array examples{
      Example<ZeroBubbleH1Bubble>{{ratio(4), ratio(8), milliseconds(1), milliseconds(1), milliseconds(1)},
                                  0.003,
                                  "F = B = W: a third of 1F1B's 9 ms",
                                  1e-9},
      Example<ZeroBubbleH1Bubble>{{ratio(4), ratio(1), milliseconds(1), milliseconds(1), milliseconds(1)},
                                  0.006,
                                  "one micro-batch: no other's weight gradient to fill with",
                                  1e-9}};
};

struct ZeroBubbleVBubble {
  static constexpr FormulaInfo info{
      "pipeline.bubble.zb_v",
      "pipeline bubble under ZB-V",
      {"shardplan",
       "event simulation of the order made by hand (zero-bubble, sec. 6): zero where F = B = W and m >= 2p - 1"},
      "chunks of equal time; sends hidden; the optimizer does not wait for a global norm; equal to the event "
      "simulation where W <= F <= B and m >= p, never more than it"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> micro_batches;
    Seconds<N> forward;
    Seconds<N> input_backward;
    Seconds<N> weight_backward;
  };
  static constexpr std::array<std::string_view, 5> symbols{"p", "m", "F", "B", "W"};
  static constexpr std::array<std::string_view, 5> inputs{"stages", "micro-batches", "forward",
                                                          "gradient of the input", "gradient of the weights"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one{N(1.0)}, none{N(0.0)};
    const auto missing =
        named("micro-batches too few to fill the V", max(2.0 * in.stages - one - in.micro_batches, none));
    const auto idle = max(in.input_backward - in.weight_backward, Seconds<N>(N(0.0)));
    const auto shortest = min(in.forward, min(in.input_backward, in.weight_backward));
    return (in.stages - one) * idle + missing * shortest;
  }
  static constexpr std::array examples{
      Example<ZeroBubbleVBubble>{
          {ratio(4), ratio(8), milliseconds(1), milliseconds(1), milliseconds(1)}, 0.0, "F = B = W: none"},
      Example<ZeroBubbleVBubble>{{ratio(4), ratio(8), milliseconds(1), milliseconds(2), milliseconds(1)},
                                 0.003,
                                 "3 x (2 - 1) ms",
                                 1e-9},
      Example<ZeroBubbleVBubble>{{ratio(4), ratio(6), milliseconds(1), milliseconds(1), milliseconds(1)},
                                 0.001,
                                 "one of 7 missing",
                                 1e-9}};
};

struct DualPipeBubble {
  static constexpr FormulaInfo info{
      "pipeline.bubble.dualpipe",
      "pipeline bubble under DualPipe",
      {"dualpipe", "repository README, table of bubbles and memory usage: (PP/2-1)(F&B + B - 3W)"},
      "a forward and a backward chunk that overlap take F + B, as nothing is said of how well their "
      "collectives hide; here B leaves the weight gradient out: F + 2 (B + W) - 3 W; equal to the event "
      "simulation where F = B = W, and at most F more than it where W <= F <= B"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Seconds<N> forward;
    Seconds<N> input_backward;
    Seconds<N> weight_backward;
  };
  static constexpr std::array<std::string_view, 4> symbols{"p", "F", "B", "W"};
  static constexpr std::array<std::string_view, 4> inputs{"stages", "forward", "gradient of the input",
                                                          "gradient of the weights"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const auto backward = named("full backward", in.input_backward + in.weight_backward);
    const auto idle = in.forward + 2.0 * backward - schedules::kDualPipeWeights * in.weight_backward;
    return (in.stages / Ratio<N>(N(2.0)) - Ratio<N>(N(1.0))) * max(idle, Seconds<N>(N(0.0)));
  }
  static constexpr std::array examples{
      Example<DualPipeBubble>{{ratio(8), milliseconds(1), milliseconds(1), milliseconds(1)},
                              0.006,
                              "3 x (3 + 2 - 3) ms, of 1F1B's 21 ms",
                              1e-9}};
};

}  // namespace shardplan
