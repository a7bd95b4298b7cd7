// Collectives on a link: alpha-beta costs of ring algorithms, their two-tier form, and whether they hide.
//
// S = bytes of the whole vector (all-gather, reduce-scatter, all-to-all: what one rank ends, starts or sends
// in all), n = ranks, B = bytes/s per GPU and direction, a = latency of one step. The latency and bandwidth
// terms are named steps, so that every report can show them apart. Worked value: 14 GB over 64 ranks at 50
// GB/s and 15 us: 551.25 ms bandwidth + 1.89 ms latency.
#pragma once

#include "catalog/communication.h"
#include "formula/formula.h"

namespace shardplan {

namespace detail {
template <class N>
Ratio<N> one() {
  return Ratio<N>(N(1.0));
}
}  // namespace detail

/// The inputs every collective shares.
template <class N>
struct RingIn {
  using Number = N;
  Bytes<N> size;
  Ratio<N> ranks;
  BytesPerSecond<N> bandwidth;
  Seconds<N> latency;
};

/// Cost in its two parts; formulas give one of them each, so that both can be shown and summed without drift.
template <class N>
struct CollectiveCost {
  Seconds<N> latency_term{};
  Seconds<N> bandwidth_term{};
  Seconds<N> total() const { return latency_term + bandwidth_term; }
};

struct RingAllReduceBandwidth {
  static constexpr FormulaInfo info{
      "comm.ring.all_reduce.bandwidth",
      "ring all-reduce, bandwidth term",
      {"patarasuk2009", "abstract: lower bound on the data, and the ring that reaches it"},
      "reduce-scatter then all-gather; full-duplex links, no contention"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "n", "B"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "ranks",
                                                          "bandwidth per GPU and direction"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return 2.0 * ((in.ranks - detail::one<N>()) / in.ranks) * in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<RingAllReduceBandwidth>{
      {gigabytes(14), ratio(64), gigabytes_per_s(50)}, 0.55125, "2 x 63/64 x 14 GB / 50 GB/s = 551.25 ms"}};
};

struct RingAllReduceLatency {
  static constexpr FormulaInfo info{
      "comm.ring.all_reduce.latency",
      "ring all-reduce, latency term",
      {"thakur2005", "pairwise reduce-scatter, then ring all-gather: n - 1 steps each"},
      "2 (n - 1) steps, each paying one step latency"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> ranks;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "a"};
  static constexpr std::array<std::string_view, 2> inputs{"ranks", "latency of one step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return 2.0 * (in.ranks - detail::one<N>()) * in.latency;
  }
  static constexpr std::array examples{
      Example<RingAllReduceLatency>{{ratio(64), microseconds(15)}, 0.00189, "126 steps of 15 us"}};
};

/// All-gather and reduce-scatter move the vector once; the all-reduce is both.
struct RingGatherBandwidth {
  static constexpr FormulaInfo info{"comm.ring.gather.bandwidth",
                                    "ring all-gather or reduce-scatter, bandwidth term",
                                    {"thakur2005", "all-gather by ring, reduce-scatter by pairwise exchange"},
                                    "S is the whole vector; full-duplex links, no contention"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "n", "B"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "ranks",
                                                          "bandwidth per GPU and direction"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.ranks - detail::one<N>()) / in.ranks * in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<RingGatherBandwidth>{
      {gigabytes(14), ratio(8), gigabytes_per_s(350)}, 0.035, "7/8 x 14 GB / 350 GB/s"}};
};

struct RingGatherLatency {
  static constexpr FormulaInfo info{"comm.ring.gather.latency",
                                    "ring all-gather or reduce-scatter, latency term",
                                    {"thakur2005", "all-gather by ring, reduce-scatter by pairwise exchange"},
                                    "n - 1 steps, each paying one step latency"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> ranks;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "a"};
  static constexpr std::array<std::string_view, 2> inputs{"ranks", "latency of one step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.ranks - detail::one<N>()) * in.latency;
  }
  static constexpr std::array examples{
      Example<RingGatherLatency>{{ratio(8), microseconds(5)}, 35e-6, "7 steps of 5 us"}};
};

struct AllToAllBandwidth {
  static constexpr FormulaInfo info{"comm.all_to_all.bandwidth",
                                    "pairwise all-to-all, bandwidth term",
                                    {"thakur2005", "all-to-all by pairwise exchange"},
                                    "S is what one rank sends in all, its own share included; no contention"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "n", "B"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "ranks",
                                                          "bandwidth per GPU and direction"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.ranks - detail::one<N>()) / in.ranks * in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<AllToAllBandwidth>{
      {megabytes(80), ratio(8), gigabytes_per_s(70)}, 0.001, "7/8 x 80 MB / 70 GB/s"}};
};

struct AllToAllLatency {
  static constexpr FormulaInfo info{"comm.all_to_all.latency",
                                    "pairwise all-to-all, latency term",
                                    {"thakur2005", "all-to-all by pairwise exchange"},
                                    "n - 1 exchanges, each paying one step latency"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> ranks;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "a"};
  static constexpr std::array<std::string_view, 2> inputs{"ranks", "latency of one step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.ranks - detail::one<N>()) * in.latency;
  }
  static constexpr std::array examples{
      Example<AllToAllLatency>{{ratio(8), microseconds(5)}, 35e-6, "7 exchanges of 5 us"}};
};

/// A chain that passes the vector on piece by piece: broadcast, or send and receive with two ranks.
struct ChainBandwidth {
  static constexpr FormulaInfo info{"comm.chain.bandwidth",
                                    "pipelined broadcast or send/receive, bandwidth term",
                                    {"hockney1994", "latency plus size over bandwidth: the bandwidth term"},
                                    "pieces small enough that every link of the chain is busy at once"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 2> symbols{"S", "B"};
  static constexpr std::array<std::string_view, 2> inputs{"message size, the whole vector",
                                                          "bandwidth per GPU and direction"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<ChainBandwidth>{{gigabytes(1), gigabytes_per_s(50)}, 0.02, "1 GB at 50 GB/s"}};
};

struct ChainLatency {
  static constexpr FormulaInfo info{"comm.chain.latency",
                                    "pipelined broadcast or send/receive, latency term",
                                    {"hockney1994", "latency plus size over bandwidth: the latency term"},
                                    "one step latency for each link of the chain"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> ranks;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "a"};
  static constexpr std::array<std::string_view, 2> inputs{"ranks", "latency of one step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return (in.ranks - detail::one<N>()) * in.latency;
  }
  static constexpr std::array examples{
      Example<ChainLatency>{{ratio(2), microseconds(15)}, 15e-6, "send/receive is one link"}};
};

/// What a data-parallel step reduces.
struct GradientMessage {
  static constexpr FormulaInfo info{
      "comm.gradient_message",
      "bytes of a gradient reduction",
      {"rajbhandari2019", "sec. 3.1: gradients in the training precision; sec. 7.1: all reduced"},
      "every parameter has a gradient, and all are reduced once a step"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> bytes_per_parameter;
  };
  static constexpr std::array<std::string_view, 2> symbols{"Psi", "k"};
  static constexpr std::array<std::string_view, 2> inputs{"parameters", "bytes of one gradient"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.bytes_per_parameter;
  }
  static constexpr std::array examples{
      Example<GradientMessage>{{ratio(7e9), bytes(2)}, 14e9, "7 B parameters in bf16: 14 GB"}};
};

/// The part of a step under which the gradient reduction can hide.
struct BackwardWindow {
  static constexpr FormulaInfo info{
      "comm.window.backward",
      "backward pass of a step",
      {"narayanan2021", "appendix: backward takes twice the forward FLOPs"},
      "the step is forward and backward only; gradients are ready evenly over the backward "
      "pass"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> step;
  };
  static constexpr std::array<std::string_view, 1> symbols{"T"};
  static constexpr std::array<std::string_view, 1> inputs{"time of a step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> forward = detail::one<N>();
    const Ratio<N> backward = 2.0 * forward;
    return in.step * (backward / (forward + backward));
  }
  static constexpr std::array examples{
      Example<BackwardWindow>{{milliseconds(700)}, 0.46666666666666667, "two thirds of 700 ms"}};
};

/// What a collective adds to the step when it may run beside `window` of compute.
struct ExposedTime {
  static constexpr FormulaInfo info{
      "comm.exposed",
      "what communication adds to the step",
      {"shardplan", "definition: communication-bound is what is exposed"},
      "communication runs beside the window; while it does, the compute is slowed by a share "
      "of it (SMs and memory bandwidth taken), 0 where contention is left out"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> communication;
    Seconds<N> window;
    Ratio<N> contention;
  };
  static constexpr std::array<std::string_view, 3> symbols{"C", "W", "kappa"};
  static constexpr std::array<std::string_view, 3> inputs{
      "communication time", "window: compute that runs beside it",
      "contention: share of hidden communication that is felt"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const auto beside = min(in.communication, in.window);
    return in.communication - beside + in.contention * beside;
  }
  static constexpr std::array examples{
      Example<ExposedTime>{
          {milliseconds(553.14), milliseconds(466.6), ratio(0)}, 0.08654, "553.14 - 466.6 ms", 1e-9},
      Example<ExposedTime>{
          {milliseconds(81.7), milliseconds(466.6), ratio(0)}, 0.0, "shorter than its window: hidden"},
      Example<ExposedTime>{{milliseconds(100), milliseconds(200), ratio(0.47)},
                           0.047,
                           "hidden, but 47 % of it is felt",
                           1e-9}};
};

/// Least bandwidth at which a collective hides under its window, from its terms at the bandwidth there is.
struct RequiredBandwidth {
  static constexpr FormulaInfo info{"comm.required_bandwidth",
                                    "least bandwidth at which a collective hides",
                                    {"shardplan", "alpha-beta cost solved for B"},
                                    "alpha-beta cost; the latency term alone is shorter than the window"};
  template <class N>
  struct In {
    using Number = N;
    BytesPerSecond<N> bandwidth;
    Seconds<N> bandwidth_term;
    Seconds<N> latency_term;
    Seconds<N> window;
  };
  static constexpr std::array<std::string_view, 4> symbols{"B", "t_B", "t_a", "W"};
  static constexpr std::array<std::string_view, 4> inputs{"bandwidth per GPU and direction", "bandwidth term",
                                                          "latency term",
                                                          "window: compute that runs beside it"};
  template <class N>
  static constexpr BytesPerSecond<N> eval(const In<N>& in) {
    return in.bandwidth * (in.bandwidth_term / (in.window - in.latency_term));
  }
  static constexpr std::array examples{
      Example<RequiredBandwidth>{{gigabytes_per_s(50), seconds(0.55125), seconds(0.00189), seconds(0.46656)},
                                 59316288979.27562,
                                 "50 GB/s x 551.25 / (466.56 - 1.89)"}};
};

template <class N>
CollectiveCost<N> ring_cost(Collective kind, const RingIn<N>& in) {
  switch (kind) {
    case Collective::kAllReduce:
      return {call<RingAllReduceLatency>(RingAllReduceLatency::In<N>{in.ranks, in.latency}),
              call<RingAllReduceBandwidth>(RingAllReduceBandwidth::In<N>{in.size, in.ranks, in.bandwidth})};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return {call<RingGatherLatency>(RingGatherLatency::In<N>{in.ranks, in.latency}),
              call<RingGatherBandwidth>(RingGatherBandwidth::In<N>{in.size, in.ranks, in.bandwidth})};
    case Collective::kAllToAll:
      return {call<AllToAllLatency>(AllToAllLatency::In<N>{in.ranks, in.latency}),
              call<AllToAllBandwidth>(AllToAllBandwidth::In<N>{in.size, in.ranks, in.bandwidth})};
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      break;
  }
  return {call<ChainLatency>(ChainLatency::In<N>{in.ranks, in.latency}),
          call<ChainBandwidth>(ChainBandwidth::In<N>{in.size, in.bandwidth})};
}

}  // namespace shardplan
