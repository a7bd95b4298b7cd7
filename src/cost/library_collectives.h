// What a collective library (NCCL, RCCL) would run, and the ways that lost: each algorithm under each
// protocol.
//
// The library's own rule: latency + size / bandwidth of every way that is enabled, the least is taken. What
// that way then takes also has the filling of its pipeline, so one that lost may be the faster.
//
//   auto ways = library_ways<double>(Collective::kAllReduce, mebibytes(1), links, cluster, {1, 8}, launch,
//   scope); ways.best().algorithm     // kRing, protocol kLL, on a node of eight H100
//
// No allocation with N = double. Not here: the formulas (library_formulas.h), links by hand, of which only
// bandwidth and latency are known (group_collectives.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "cost/group_collectives.h"
#include "cost/library_formulas.h"

namespace shardplan {

template <class N = double>
struct LibraryWay {
  CommAlgorithm algorithm = CommAlgorithm::kNone;
  std::optional<Protocol> protocol;
  CollectiveCost<N> cost;
  Seconds<N> own{};  // by the library's own reckoning, which leaves the filling of the pipeline out
};

template <class N = double>
struct LibraryWays {
  static constexpr std::size_t kMost = 12;
  std::array<LibraryWay<N>, kMost> ways{};
  std::size_t count = 0, picked = 0;
  const LibraryWay<N>& best() const { return ways[picked]; }
  void add(const LibraryWay<N>& way) {
    ways[count] = way;
    if (way.own < ways[picked].own) picked = count;
    ++count;
  }
};

/// The costs of one group's ways, put together from the tables that its cluster follows.
template <class N>
class LibraryCosts {
 public:
  LibraryCosts(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
               const Cluster& cluster, const Group& group)
      : kind_(kind), size_(size), system_(*cluster.collectives), n_(group.count) {
    const TierShares shares = members(cluster, group);
    const std::size_t network = std::min(system_.network_tier, shares.outermost + 1);
    for (std::size_t i = 0; i < network; ++i) g_ *= shares.ranks[i];
    g_ = std::min(g_, n_);
    nodes_ = (n_ + g_ - 1) / g_;
    fewest_ = n_ % g_ == 0 ? g_ : n_ % g_;
    inside_ = slowest(links, shares, 0, std::min(network, links.size()));
    if (nodes_ > 1) network_ = slowest(links, shares, network, shares.outermost + 1);
    span_ = nodes_ == 1 ? 0 : (nodes_ == kTwo ? 1 : 2);
    if (system_.link == ScaleUpKind::kMesh && g_ > 1 && static_cast<double>(g_) < system_.domain.raw()) {
      inside_.bandwidth = call<MeshBandwidth>(
          typename MeshBandwidth::In<N>{inside_.bandwidth, count("ranks in a node", g_),
                                        leaf<N>("GPUs of the mesh", system_.domain, "the device's link")});
    }
  }

  LibraryWays<N> ways(const Sourced<Seconds<>>& launch, const LibraryScope& scope) {
    launch_ = leaf<N>("launch", launch.value, launch.source);
    if (scope.library) add_library();
    if (scope.kernels) add_kernels();
    return result_;
  }

 private:
  static constexpr std::int64_t kTwo = 2;
  static constexpr std::int64_t kNetworkChannelsMost = 8;  // one for each network card of a node
  static constexpr double kCorrectedFrom = 64;             // bytes, the first entry of the tree's correction

  static Link<N> slowest(const std::vector<Link<N>>& links, const TierShares& shares, std::size_t from,
                         std::size_t to) {
    Link<N> link = links[std::min(from, links.size() - 1)];
    for (std::size_t i = from + 1; i < to; ++i) {
      if (shares.ranks[i] <= 1) continue;
      if (links[i].bandwidth < link.bandwidth) link.bandwidth = links[i].bandwidth;
      if (links[i].latency > link.latency) link.latency = links[i].latency;
    }
    return link;
  }

  Ratio<N> count(const char* what, std::int64_t v) const {
    return leaf<N>(what, static_cast<double>(v), "placement of the group");
  }
  template <class Q>
  auto constant(const char* what, const Q& v) const {
    return leaf<N>(what, v, system_.library.source);
  }
  /// Whether the device's own link joins all the ranks of a node; pairs joined by bridges are not.
  bool joined() const { return static_cast<double>(g_) <= system_.domain.raw(); }
  /// Whether what a GPU sends to its node passes the same PCIe link as what it sends to its network card.
  bool shares_link() const { return system_.link == ScaleUpKind::kPcie || !joined(); }
  const HopLatencies& inside_hops() const {
    return shares_link() ? system_.library.pcie : system_.library.scale_up;
  }
  Seconds<N> inside_hop(Seconds<> table) const {
    return constant("hop inside a node", table) + leaf<N>("hop of this generation beyond the table",
                                                          system_.generation.hop_extra.value,
                                                          system_.generation.hop_extra.source);
  }
  Seconds<N> network_hop(Seconds<> table, Ratio<> trips) const {
    return call<NetworkHop>(typename NetworkHop::In<N>{
        constant("hop over the network", table), network_.latency,
        constant("network hop of the table", system_.library.network.tree[0]), constant("trips", trips)});
  }
  std::int64_t channels() const {
    if (nodes_ == 1) return static_cast<std::int64_t>(system_.generation.channels.raw());
    return std::clamp(g_, kTwo, kNetworkChannelsMost);
  }
  BytesPerSecond<N> channel_cap(const BySpan<BytesPerSecond<>>& caps) const {
    return count("channels", channels()) * constant("most of a channel", caps[span_]);
  }
  /// What all the links of the emptiest node carry between nodes, `ways` of them at once.
  BytesPerSecond<N> network_bus(std::int64_t ways) const {
    return count("ranks in the emptiest node", fewest_ * ways) * network_.bandwidth;
  }
  /// A ring over nodes enters each node once: of g ranks, g - 1 send inside, so their links carry that share.
  /// MI300X reach 316 GB/s in a node of eight and 358 over two. A link that carries both, and a chain, of
  /// whose ranks one does not send in a node either, gain nothing.
  BytesPerSecond<N> bus(std::int64_t ways) const {
    if (nodes_ == 1) return inside_.bandwidth;
    if (g_ == 1) return network_bus(ways);
    if (shares_link() || kind_ == Collective::kBroadcast) return min(network_bus(ways), inside_.bandwidth);
    return min(network_bus(ways),
               count("ranks in a node", g_) / count("links used", g_ - 1) * inside_.bandwidth);
  }
  /// The bus bandwidth at which each rank, or node, receives the sum once over this bandwidth: the wire's
  /// limit.
  BytesPerSecond<N> as_bus(const BytesPerSecond<N>& bandwidth) const {
    const double turns = 2.0 * static_cast<double>(n_ - 1) / static_cast<double>(n_);
    return leaf<N>("bytes on a ring for one of the message", turns, "placement of the group") * bandwidth;
  }
  BytesPerSecond<N> limited(const BytesPerSecond<N>& whole, Ratio<> share,
                            const BytesPerSecond<N>& most) const {
    return call<ProtocolBandwidth>(
        typename ProtocolBandwidth::In<N>{whole, constant("share of the protocol", share), most});
  }
  BytesPerSecond<N> ll_most() const {
    return constant("most under LL",
                    nodes_ == 1 ? system_.generation.ll_most[0] : system_.library.network_ll_most[span_]);
  }

  void add(CommAlgorithm algorithm, std::optional<Protocol> protocol, const Seconds<N>& latency,
           const Seconds<N>& transfer) {
    const CollectiveCost<N> cost{launch_ + latency, transfer};
    result_.add({algorithm, protocol, cost, cost.total()});
  }
  /// Where pieces fill a pipeline of some depth before the first arrives.
  void add_filled(CommAlgorithm algorithm, std::optional<Protocol> protocol, const Seconds<N>& latency,
                  const Seconds<N>& transfer) {
    const auto& fill = system_.generation.pipeline_fill;
    const Seconds<N> filling = call<PipelineFill>(
        typename PipelineFill::In<N>{latency, transfer, leaf<N>("pipeline fill", fill.value, fill.source)});
    result_.add({algorithm, protocol, {launch_ + latency, transfer + filling}, launch_ + latency + transfer});
  }
  /// What a bus of this bandwidth takes for the collective, latency apart.
  Seconds<N> transfer(const BytesPerSecond<N>& bandwidth) const {
    return ring_cost<N>(kind_, {size_, count("ranks", n_), bandwidth, Seconds<N>{}}).bandwidth_term;
  }

  void add_library() {
    if (kind_ == Collective::kAllToAll || kind_ == Collective::kSendRecv) return add_peers();
    if (nodes_ == 1 && kind_ != Collective::kBroadcast && system_.generation.direct_latency)
      return add_direct();
    for (std::size_t p = 0; p < kProtocolCount; ++p) add_ring(static_cast<Protocol>(p));
    const bool reduce = kind_ == Collective::kAllReduce;
    for (std::size_t p = 0; reduce && p < kProtocolCount; ++p) add_tree(static_cast<Protocol>(p));
    if (reduce && g_ > 1) add_switch();
    if (!reduce && kind_ != Collective::kBroadcast && g_ == 1 && system_.library.pat) add_pat();
  }
  void add_ring(Protocol protocol);
  void add_tree(Protocol protocol);
  void add_switch();
  void add_pat();
  void add_direct();
  void add_peers();
  void add_kernels();

  Collective kind_;
  Bytes<N> size_;
  const CollectiveSystem& system_;
  std::int64_t n_, g_ = 1, nodes_ = 1;
  std::int64_t fewest_ = 1;  // ranks in the emptiest node
  std::size_t span_ = 0;
  Link<N> inside_{}, network_{};
  Seconds<N> launch_{};
  LibraryWays<N> result_;
};

template <class N>
void LibraryCosts<N>::add_ring(Protocol protocol) {
  const auto p = static_cast<std::size_t>(protocol);
  const CollectiveLibrary& library = system_.library;
  const std::int64_t rounds = kind_ == Collective::kAllReduce ? 2 : 1;
  const auto extra = static_cast<std::int64_t>(library.ring_extra_nodes.raw());
  const std::int64_t crossings = nodes_ == 1 ? 0 : rounds * (nodes_ - 1 + extra);
  const bool stretched = protocol == Protocol::kSimple && nodes_ > 1 && rounds > 1;
  // A ring of single ranks has no step inside a node: its network steps are those of a tree.
  const Seconds<> table = g_ == 1 ? library.network.tree[p] : library.network.ring[p];
  const Seconds<N> none{};
  const Seconds<N> latency = call<RingStepsLatency>(typename RingStepsLatency::In<N>{
      constant("base latency", library.base_ring[p]), count("steps", rounds * (n_ - 1)),
      count("steps over the network", std::min(crossings, rounds * (n_ - 1))),
      inside_hop(inside_hops().ring[p]),
      nodes_ == 1 ? none : constant("least step", library.ring_overhead[p]),
      nodes_ == 1 ? none : network_hop(table, library.network_trips[p]),
      constant("stretch", stretched ? library.ring_simple_stretch : ratio(1))});
  const BytesPerSecond<N> whole = bus(1);
  const BytesPerSecond<N> most = protocol == Protocol::kLL ? ll_most()
                                 : protocol == Protocol::kLL128
                                     ? channel_cap(system_.generation.channel.ring_ll128)
                                     : whole;
  add(CommAlgorithm::kRing, protocol, latency, transfer(limited(whole, library.ring_share[p], most)));
}

template <class N>
void LibraryCosts<N>::add_tree(Protocol protocol) {
  const auto p = static_cast<std::size_t>(protocol);
  const CollectiveLibrary& library = system_.library;
  const LinkGeneration& generation = system_.generation;
  const Seconds<N> latency = call<TreeLatency>(typename TreeLatency::In<N>{
      constant("base latency", library.base_tree[p]), count("ranks in a node", g_),
      inside_hop(inside_hops().tree[p]), count("nodes", nodes_),
      nodes_ == 1 ? Seconds<N>{} : network_hop(library.network.tree[p], library.network_trips[p])});
  // Between two nodes each half of the tree sends one way only: the cards carry twice as much.
  BytesPerSecond<N> bandwidth = limited(bus(nodes_ == kTwo ? kTwo : 1), library.tree_share,
                                        channel_cap(generation.channel.tree_simple));
  if (protocol == Protocol::kLL) bandwidth = limited(bandwidth, library.tree_share_ll, ll_most());
  if (protocol == Protocol::kLL128) {
    bandwidth =
        limited(bandwidth, library.tree_share_ll128[span_], channel_cap(generation.channel.tree_ll128));
  }
  const std::vector<double>& table = library.tree_correction[p];
  const double at = std::floor(std::log2(value_of(size_) / kCorrectedFrom));
  const bool corrected = at >= 0 && at < static_cast<double>(table.size());
  const Ratio<> factor(corrected ? table[static_cast<std::size_t>(at)] : 1.0);
  add(CommAlgorithm::kTree, protocol, latency,
      call<TreeBandwidth>(
          typename TreeBandwidth::In<N>{size_, bandwidth, constant("correction at this size", factor)}));
}

template <class N>
void LibraryCosts<N>::add_switch() {
  const auto& reduction = system_.generation.switch_reduction;
  if (system_.link != ScaleUpKind::kSwitch || !joined() || !reduction) return;
  const std::int64_t heads = std::min(g_, kNetworkChannelsMost);
  const auto fits = [&](BytesPerSecond<> speed) {
    return static_cast<double>(heads + 1) * speed <= reduction->link;
  };
  const auto speed = std::find_if(reduction->speeds.begin(), reduction->speeds.end(), fits);
  if (speed == reduction->speeds.end()) return;
  const BytesPerSecond<N> inside = min(call<SwitchBandwidth>(typename SwitchBandwidth::In<N>{
                                           count("channels", heads), constant("speed of a channel", *speed),
                                           constant("efficiency of the switch", reduction->efficiency)}),
                                       as_bus(inside_.bandwidth));
  const HopLatencies& hops = system_.library.scale_up;
  const Seconds<N> hop = nodes_ == 1 ? Seconds<N>{}
                                     : network_hop(system_.library.network.nvls_tree,
                                                   system_.library.network_trips[kProtocolCount - 1]);
  const Seconds<N> latency = call<SwitchLatency>(typename SwitchLatency::In<N>{
      constant("latency in the switch", nodes_ == 1 ? hops.nvls : hops.nvls_tree), count("nodes", nodes_),
      hop});
  if (nodes_ == 1) return add_filled(CommAlgorithm::kNvls, Protocol::kSimple, latency, transfer(inside));
  const BytesPerSecond<N> joined = call<SwitchTreeBandwidth>(typename SwitchTreeBandwidth::In<N>{
      count("channels", heads), inside, nodes_ == kTwo ? as_bus(network_bus(1)) : network_bus(1),
      constant("most of a channel", system_.generation.channel.nvls_tree[span_])});
  add_filled(CommAlgorithm::kNvlsTree, Protocol::kSimple, latency, transfer(joined));
}

template <class N>
void LibraryCosts<N>::add_pat() {
  const CollectiveLibrary::AggregatedTrees& pat = *system_.library.pat;
  const Seconds<N> latency = call<AggregatedTreesLatency>(typename AggregatedTreesLatency::In<N>{
      constant("base latency", pat.base), count("nodes", nodes_),
      network_hop(pat.network, system_.library.network_trips[kProtocolCount - 1]),
      constant("hops at once", pat.hops_at_once), constant("latency of a rank", pat.rank)});
  const BytesPerSecond<N> whole = bus(1);
  add(CommAlgorithm::kPat, Protocol::kSimple, latency,
      call<ChainBandwidth>(typename ChainBandwidth::In<N>{size_, limited(whole, pat.share, whole)}));
}

template <class N>
void LibraryCosts<N>::add_direct() {
  const auto& direct = system_.generation.direct_latency;
  add_filled(CommAlgorithm::kDirect, std::nullopt,
             leaf<N>("latency of the exchange", direct->value, direct->source), transfer(inside_.bandwidth));
}

/// Every rank sends to its peers at once: the slower of what stays in the node and what leaves it, of the
/// rank that sends the most of either.
template <class N>
void LibraryCosts<N>::add_peers() {
  const auto& first = system_.generation.peer_latency;
  Seconds<N> latency = leaf<N>("latency of send and receive", first.value, first.source);
  if (nodes_ > 1) latency += network_.latency;
  const auto part = [&](std::int64_t peers, const BytesPerSecond<N>& bandwidth) {
    const double share = static_cast<double>(peers) / static_cast<double>(n_);
    const Bytes<N> bytes = kind_ == Collective::kSendRecv
                               ? size_
                               : size_ * leaf<N>("share of the peers", share, "placement of the group");
    return call<ChainBandwidth>(typename ChainBandwidth::In<N>{bytes, bandwidth});
  };
  const bool chain = kind_ == Collective::kSendRecv;
  const Seconds<N> away = nodes_ > 1 ? part(n_ - fewest_, network_.bandwidth) : Seconds<N>{};
  const Seconds<N> near = g_ > 1 ? part(shares_link() ? n_ - 1 : g_ - 1, inside_.bandwidth) : Seconds<N>{};
  const Seconds<N> sending = nodes_ == 1 ? near : (g_ == 1 ? away : max(near, away));
  add_filled(chain ? CommAlgorithm::kChain : CommAlgorithm::kPairwise, std::nullopt, latency, sending);
}

template <class N>
void LibraryCosts<N>::add_kernels() {
  const auto& kernels = system_.generation.kernels;
  if (!kernels || nodes_ > 1 || !joined() || kind_ != Collective::kAllReduce) return;
  const auto one = constant("latency of the kernel", kernels->one_shot);
  const auto two = constant("latency of the kernel", kernels->two_shot);
  const auto bandwidth = min(constant("bytes/s that a GPU reads", kernels->bandwidth), inside_.bandwidth);
  const auto multimem = min(constant("bytes/s of multicast memory", kernels->multimem), inside_.bandwidth);
  const Ratio<N> ranks = count("ranks", n_);
  add(CommAlgorithm::kOneShot, std::nullopt, one,
      call<OneShotBandwidth>(typename OneShotBandwidth::In<N>{size_, ranks, bandwidth}));
  add(CommAlgorithm::kTwoShot, std::nullopt, two, transfer(bandwidth));
  if (system_.link != ScaleUpKind::kSwitch || !system_.generation.switch_reduction) return;
  add(CommAlgorithm::kMultimem, std::nullopt, two,
      call<MultimemBandwidth>(typename MultimemBandwidth::In<N>{size_, ranks, multimem}));
}

/// The ways of a group of more than one rank, on a cluster whose collectives are known.
template <class N>
LibraryWays<N> library_ways(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                            const Cluster& cluster, const Group& group, const Sourced<Seconds<>>& launch,
                            const LibraryScope& scope) {
  return LibraryCosts<N>(kind, size, links, cluster, group).ways(launch, scope);
}

}  // namespace shardplan
