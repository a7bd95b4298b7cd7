// Formulas of a collective library's own model (NCCL, RCCL): latency of an algorithm, bandwidth under a
// protocol, and what the library's model leaves out, the filling of the pipeline.
//
// n = ranks, N = nodes, g = ranks in a node. Bus bandwidth is what one link must carry: an all-reduce of S
// over a ring puts 2 (n-1)/n S on each. Worked value: a tree of 16 ranks on 2 nodes, LL, over a network hop
// of 6 us: 6.8 + 2 (7 x 0.6 + 6) = 27.2 us. Not here: which algorithm is taken (cost/library_collectives.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

struct NetworkHop {
  static constexpr FormulaInfo info{
      "comm.library.network_hop",
      "latency of one hop over the network",
      {"nccl2026", "src/graph/tuning.cc: the table's hop, and the latency that the network declares"},
      "the table is that of a network whose hop takes x0 under LL; Simple pays the difference twice, as it "
      "flushes"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> table;
    Seconds<N> hop;
    Seconds<N> usual;
    Ratio<N> trips;
  };
  static constexpr std::array<std::string_view, 4> symbols{"h", "x", "x0", "k"};
  static constexpr std::array<std::string_view, 4> inputs{
      "the library's latency of a hop", "latency of a hop of this network", "that of the library's table",
      "how often a hop pays it"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return max(in.table + in.trips * (in.hop - in.usual), Seconds<N>(N(0.0)));
  }
  static constexpr std::array examples{Example<NetworkHop>{
      {microseconds(14), microseconds(28.7), microseconds(5), ratio(2)}, 61.4e-6, "14 + 2 x 23.7 us"}};
};

struct RingStepsLatency {
  static constexpr FormulaInfo info{
      "comm.library.ring.latency",
      "latency of a library's ring",
      {"nccl2026", "src/graph/tuning.cc: base + steps inside a node + steps over the network"},
      "steps inside a node take at least o while the ring also crosses the network"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> base;
    Ratio<N> steps;
    Ratio<N> network_steps;
    Seconds<N> inside;
    Seconds<N> overhead;
    Seconds<N> network;
    Ratio<N> stretch;
  };
  static constexpr std::array<std::string_view, 7> symbols{"b", "s", "e", "h", "o", "h_N", "z"};
  static constexpr std::array<std::string_view, 7> inputs{
      "latency before the first step",   "steps",
      "steps over the network",          "step inside a node",
      "least step of a ring over nodes", "step over the network",
      "stretch at large sizes"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return in.stretch * (in.base + (in.steps - in.network_steps) * max(in.inside, in.overhead) +
                         in.network_steps * in.network);
  }
  static constexpr std::array examples{Example<RingStepsLatency>{
      {microseconds(6.6), ratio(14), ratio(0), microseconds(0.6), microseconds(0), microseconds(0), ratio(1)},
      15e-6,
      "8 GPUs of a node, LL: 6.6 + 14 x 0.6 us"}};
};

struct TreeLatency {
  static constexpr FormulaInfo info{
      "comm.library.tree.latency",
      "latency of a library's tree",
      {"nccl2026", "src/graph/tuning.cc: base + 2 ((g - 1) inside + floor(log2 N) network)"},
      "a chain inside each node, a binary tree over the nodes, up and down"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> base;
    Ratio<N> per_node;
    Seconds<N> inside;
    Ratio<N> nodes;
    Seconds<N> network;
  };
  static constexpr std::array<std::string_view, 5> symbols{"b", "g", "h", "N", "h_N"};
  static constexpr std::array<std::string_view, 5> inputs{"latency before the first hop", "ranks in a node",
                                                          "hop inside a node", "nodes",
                                                          "hop over the network"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    const Ratio<N> chain = in.per_node - Ratio<N>(N(1.0));
    return in.base + 2.0 * (chain * in.inside + floor(log2(in.nodes)) * in.network);
  }
  static constexpr std::array examples{
      Example<TreeLatency>{{microseconds(6.8), ratio(8), microseconds(0.6), ratio(2), microseconds(6)},
                           27.2e-6,
                           "2 nodes of 8, LL: 6.8 + 2 (7 x 0.6 + 6) us"}};
};

struct AggregatedTreesLatency {
  static constexpr FormulaInfo info{
      "comm.library.pat.latency",
      "latency of parallel aggregated trees",
      {"nccl2026", "src/graph/tuning.cc: PAT, base + log2(N) network / 3.5 + 2.8 us for each rank"},
      "one rank in a node; hops of different trees overlap"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> base;
    Ratio<N> nodes;
    Seconds<N> network;
    Ratio<N> at_once;
    Seconds<N> rank;
  };
  static constexpr std::array<std::string_view, 5> symbols{"b", "N", "h_N", "k", "r"};
  static constexpr std::array<std::string_view, 5> inputs{"latency before the first hop",
                                                          "nodes, of one rank", "hop over the network",
                                                          "hops at once", "latency of each rank"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return in.base + log2(in.nodes) * in.network / in.at_once + in.nodes * in.rank;
  }
  static constexpr std::array examples{Example<AggregatedTreesLatency>{
      {microseconds(8), ratio(16), microseconds(14), ratio(3.5), microseconds(2.8)},
      68.8e-6,
      "16 nodes: 8 + 4 x 14 / 3.5 + 16 x 2.8 us"}};
};

struct SwitchLatency {
  static constexpr FormulaInfo info{
      "comm.library.nvls.latency",
      "latency of a reduction in the switch",
      {"nccl2026", "src/graph/tuning.cc: NVLS inside a node, a tree over the nodes"},
      "the switch reduces; a binary tree joins the nodes, up and down"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> inside;
    Ratio<N> nodes;
    Seconds<N> network;
  };
  static constexpr std::array<std::string_view, 3> symbols{"h", "N", "h_N"};
  static constexpr std::array<std::string_view, 3> inputs{"latency inside a node", "nodes",
                                                          "hop over the network"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return in.inside + 2.0 * (floor(log2(in.nodes)) * in.network);
  }
  static constexpr std::array examples{Example<SwitchLatency>{
      {microseconds(25), ratio(4), microseconds(20.9)}, 108.6e-6, "4 nodes: 25 + 4 x 20.9 us"}};
};

struct ProtocolBandwidth {
  static constexpr FormulaInfo info{
      "comm.library.protocol_bandwidth",
      "bus bandwidth under a protocol",
      {"nccl2026", "src/graph/tuning.cc: a share of the bus bandwidth, up to what the channels carry"},
      "flags beside the data cost a share; a channel is one SM"};
  template <class N>
  struct In {
    using Number = N;
    BytesPerSecond<N> bus;
    Ratio<N> share;
    BytesPerSecond<N> most;
  };
  static constexpr std::array<std::string_view, 3> symbols{"B", "p", "B_c"};
  static constexpr std::array<std::string_view, 3> inputs{"bus bandwidth", "share left by the protocol",
                                                          "most that the channels carry"};
  template <class N>
  static BytesPerSecond<N> eval(const In<N>& in) {
    return min(in.share * in.bus, in.most);
  }
  static constexpr std::array examples{
      Example<ProtocolBandwidth>{{gigabytes_per_s(360), ratio(0.5), gigabytes_per_s(141)},
                                 141e9,
                                 "LL on a node of H100: half of 360 is beyond 141 GB/s"}};
};

struct SwitchBandwidth {
  static constexpr FormulaInfo info{
      "comm.library.nvls.bandwidth",
      "bus bandwidth of an all-reduce in the switch",
      {"nccl2026", "src/graph/tuning.cc: NVLS, all-reduce"},
      "each channel has a head that reduces and spreads; what leaves counts once, a ring would send it twice"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> channels;
    BytesPerSecond<N> speed;
    Ratio<N> efficiency;
  };
  static constexpr std::array<std::string_view, 3> symbols{"c", "b", "eta"};
  static constexpr std::array<std::string_view, 3> inputs{"channels", "speed of a channel",
                                                          "efficiency of the switch"};
  template <class N>
  static BytesPerSecond<N> eval(const In<N>& in) {
    return 2.0 * (in.efficiency * ((in.channels - Ratio<N>(N(1.0))) * in.speed));
  }
  static constexpr std::array examples{Example<SwitchBandwidth>{
      {ratio(8), gigabytes_per_s(40), ratio(0.85)}, 476e9, "a node of H100: 2 x 0.85 x 7 x 40 GB/s"}};
};

struct SwitchTreeBandwidth {
  static constexpr FormulaInfo info{
      "comm.library.nvls_tree.bandwidth",
      "bus bandwidth of an all-reduce in switches joined by a tree",
      {"nccl2026", "src/graph/tuning.cc: NVLSTree, all-reduce"},
      "the slowest of switch, network and channel sets the pace of every channel"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> channels;
    BytesPerSecond<N> inside;
    BytesPerSecond<N> network;
    BytesPerSecond<N> most;
  };
  static constexpr std::array<std::string_view, 4> symbols{"c", "B_s", "B_N", "b_c"};
  static constexpr std::array<std::string_view, 4> inputs{
      "channels", "bus bandwidth in the switch", "bandwidth of the node's network", "most of a channel"};
  template <class N>
  static BytesPerSecond<N> eval(const In<N>& in) {
    return min(min(in.inside, in.network), in.channels * in.most);
  }
  static constexpr std::array examples{Example<SwitchTreeBandwidth>{
      {ratio(8), gigabytes_per_s(476), gigabytes_per_s(800), gigabytes_per_s(57.7)},
      461.6e9,
      "two nodes of H100: 8 x 57.7 GB/s"}};
};

struct MeshBandwidth {
  static constexpr FormulaInfo info{
      "comm.library.mesh_bandwidth",
      "bus bandwidth of some GPUs of a mesh",
      {"shardplan", "each pair has a link of its own: k GPUs use k - 1 of the n - 1 links that each has"},
      "every pair has one link of the same speed"};
  template <class N>
  struct In {
    using Number = N;
    BytesPerSecond<N> whole;
    Ratio<N> used;
    Ratio<N> domain;
  };
  static constexpr std::array<std::string_view, 3> symbols{"B", "k", "n"};
  static constexpr std::array<std::string_view, 3> inputs{"bus bandwidth of the whole mesh",
                                                          "GPUs that take part", "GPUs of the mesh"};
  template <class N>
  static BytesPerSecond<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    return ((in.used - one) / (in.domain - one)) * in.whole;
  }
  static constexpr std::array examples{Example<MeshBandwidth>{
      {gigabytes_per_s(313), ratio(2), ratio(8)}, 313e9 / 7, "two of eight MI300X: one link of seven", 1e-9}};
};

struct TreeBandwidth {
  static constexpr FormulaInfo info{
      "comm.library.tree.bandwidth",
      "all-reduce over a tree, bandwidth term",
      {"nccl2026", "src/graph/tuning.cc: up and down, and the tree's correction by size"},
      "the whole vector goes up and comes down"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bus;
    Ratio<N> correction;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "B", "f"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "bus bandwidth",
                                                          "correction at this size"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return 2.0 * (in.size / (in.correction * in.bus));
  }
  static constexpr std::array examples{Example<TreeBandwidth>{
      {megabytes(1), gigabytes_per_s(200), ratio(0.8)}, 12.5e-6, "2 x 1 MB / 160 GB/s"}};
};

struct PipelineFill {
  static constexpr FormulaInfo info{
      "comm.library.pipeline_fill",
      "filling of the pipeline",
      {"johnsson1989", "pieces of the best size: 2 sqrt(latency x transfer) beyond latency and transfer"},
      "the pieces are not of the best size: kappa is fitted; libraries leave the term out of their own model"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> latency;
    Seconds<N> transfer;
    Ratio<N> fill;
  };
  static constexpr std::array<std::string_view, 3> symbols{"L", "T", "kappa"};
  static constexpr std::array<std::string_view, 3> inputs{"latency", "transfer at full bandwidth",
                                                          "what the library's pieces cost of it"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return in.fill * in.latency * sqrt(in.transfer / in.latency);
  }
  static constexpr std::array examples{Example<PipelineFill>{
      {microseconds(25), microseconds(100), ratio(0.7)}, 35e-6, "0.7 x sqrt(25 x 100) us"}};
};

struct OneShotBandwidth {
  static constexpr FormulaInfo info{
      "comm.kernel.one_shot.bandwidth",
      "all-reduce that reads every peer, bandwidth term",
      {"nccl2026", "src/sym_kernels.cc: each rank reads the vector of every other"},
      "one kernel, no second step"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "n", "B"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "ranks",
                                                          "bytes/s that a GPU reads from its peers"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return (in.ranks - Ratio<N>(N(1.0))) * in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<OneShotBandwidth>{
      {kilobytes(64), ratio(8), gigabytes_per_s(320)}, 1.4e-6, "7 x 64 kB / 320 GB/s"}};
};

struct MultimemBandwidth {
  static constexpr FormulaInfo info{
      "comm.kernel.multimem.bandwidth",
      "all-reduce through multicast memory, bandwidth term",
      {"nccl2026", "src/sym_kernels.cc: S/n reduced by load, S spread by store"},
      "the switch reduces what is loaded and multiplies what is stored"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "n", "B"};
  static constexpr std::array<std::string_view, 3> inputs{"message size, the whole vector", "ranks",
                                                          "bytes/s through multicast memory"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    return (in.size / in.ranks + in.size) / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<MultimemBandwidth>{{megabytes(4), ratio(8), gigabytes_per_s(500)}, 9e-6, "4.5 MB / 500 GB/s"}};
};

}  // namespace shardplan
