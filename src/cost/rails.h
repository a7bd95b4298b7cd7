// What a rank gets of its node's network cards when several groups send at once.
//
//   call<RailShare>(RailShare::In<double>{gigabytes_per_s(25), ratio(8), ratio(4), ratio(2)})   // 25 GB/s
//
// A network's bandwidth in the catalog is per GPU with all GPUs of the node sending: the share of a plan, in
// which every GPU is in one group of each kind. Not here: which ranks those are (import/comm_question.h).
#pragma once

#include "cost/collectives.h"

namespace shardplan {

struct RailShare {
  static constexpr FormulaInfo info{
      "comm.rail_share",
      "bandwidth of a rank between nodes, of a card that several share",
      {"shardplan", "a card's rate over the ranks that send through it at once"},
      "each rank sends through one card, the ranks spread evenly; alone on its card a rank has all of it"};
  template <class N>
  struct In {
    using Number = N;
    BytesPerSecond<N> bandwidth;
    Ratio<N> gpus;
    Ratio<N> cards;
    Ratio<N> sharers;
  };
  static constexpr std::array<std::string_view, 4> symbols{"B", "G", "K", "s"};
  static constexpr std::array<std::string_view, 4> inputs{"bandwidth per GPU with all GPUs of a node sending",
                                                          "GPUs of a node", "network cards of a node",
                                                          "ranks that send through one card at once"};
  template <class N>
  static constexpr BytesPerSecond<N> eval(const In<N>& in) {
    return in.bandwidth * in.gpus / in.cards / in.sharers;
  }
  static constexpr std::array examples{
      Example<RailShare>{{gigabytes_per_s(25), ratio(8), ratio(4), ratio(2)},
                         25e9,
                         "8 GPUs, 4 cards of 50 GB/s, 8 groups of one rank: half a card each"},
      Example<RailShare>{{gigabytes_per_s(25), ratio(8), ratio(4), ratio(1)},
                         50e9,
                         "one group of one rank: a card of its own"}};
};

}  // namespace shardplan
