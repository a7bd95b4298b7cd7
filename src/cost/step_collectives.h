// A collective of a training step: what the cluster's library would run, after a launch.
//
// Where the library is known (NCCL, RCCL), the time is that of the way it picks. In a slice of TPUs, what the
// axes of its torus take, after the same launch and ramp. Where neither is known (tiers of a cluster file), a
// ring at the slower of the scale-up link and the node's rails, as several
// channels leave a node by different network cards; on top launch, a ramp that grows with the square root of
// the size (protocol switches, pipeline fill), network hops of a tree.
//
//   step_collective<double>(Collective::kAllReduce, mebibytes(64), links, cluster, tensor_group(plan),
//                           cluster.device.law.collective).cost
//
// For a device told by hand, alpha and beta are all there is: cost/group_collectives.h.
#pragma once

#include <cmath>

#include "cost/group_collectives.h"
#include "cost/library_collectives.h"

namespace shardplan {

/// What a collective takes however fast its links are.
struct CollectiveOverhead {
  static constexpr FormulaInfo info{
      "comm.overhead",
      "time of a collective beyond its bytes",
      {"nccl-tuning", "latency of a base, and of each hop; measured curves need a sqrt(S) term"},
      "a step for each further rank of the domain, log2 of the domains as network hops"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Seconds<N> launch;
    Seconds<N> ramp;
    Seconds<N> step;
    Ratio<N> ranks;
    Seconds<N> hop;
    Ratio<N> domains;
    Ratio<N> phases;
  };
  static constexpr std::array<std::string_view, 8> symbols{"S", "lambda", "c", "s", "n", "a", "D", "p"};
  static constexpr std::array<std::string_view, 8> inputs{"message size, the whole vector",
                                                          "launch and synchronisation of one phase",
                                                          "ramp: of a message of 1 MiB, a phase",
                                                          "latency of a step inside the domain",
                                                          "ranks of the domain",
                                                          "latency of a network hop",
                                                          "scale-up domains that it crosses",
                                                          "phases: 2 of an all-reduce, else 1"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    const Bytes<N> mebibyte{N(mebibytes(1).raw())};
    return in.phases * (in.launch + in.ramp * sqrt(in.size / mebibyte) +
                        in.step * (in.ranks - detail::one<N>()) + in.hop * log2(in.domains));
  }
  static constexpr std::array examples{
      Example<CollectiveOverhead>{{mebibytes(36), microseconds(17), microseconds(12), microseconds(2),
                                   ratio(8), microseconds(6), ratio(1), ratio(2)},
                                  0.000206,
                                  "2 x (17 + 12 sqrt(36) + 7 x 2) us",
                                  1e-9},
      Example<CollectiveOverhead>{{mebibytes(1), microseconds(17), microseconds(12), microseconds(2),
                                   ratio(1), microseconds(6), ratio(16), ratio(1)},
                                  0.000053,
                                  "17 + 12 us, and 4 hops of 6 us to 16 domains",
                                  1e-9}};
};

/// All-to-all of routed tokens: each token to the ranks, and the domains, that hold its experts.
struct TokenExchange {
  static constexpr FormulaInfo info{"comm.exchange",
                                    "dispatch or combine of routed tokens, bandwidth term",
                                    {"deepseek-v3", "sec. 3.2.2: a token is sent once to each node"},
                                    "balanced routing; one copy for each domain crosses the network"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> inside;
    Ratio<N> outside;
    BytesPerSecond<N> bandwidth_inside;
    BytesPerSecond<N> bandwidth_outside;
  };
  static constexpr std::array<std::string_view, 5> symbols{"y", "x_i", "x_o", "B_i", "B_o"};
  static constexpr std::array<std::string_view, 5> inputs{
      "routed tokens of the rank, one copy for each expert", "copies sent inside the domain, of y",
      "copies sent to other domains, of y", "bandwidth inside a domain", "bandwidth between domains"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size * in.inside / in.bandwidth_inside + in.size * in.outside / in.bandwidth_outside;
  }
  static constexpr std::array examples{Example<TokenExchange>{
      {megabytes(100), ratio(0.875), ratio(0), gigabytes_per_s(350), gigabytes_per_s(30)},
      0.00025,
      "7/8 of 100 MB at 350 GB/s",
      1e-9}};
};

/// Whether the device's collectives have a launch of their own, or alpha and beta by hand.
inline bool has_collective_law(const Cluster& cluster) {
  return cluster.device.law.collective.value.raw() > 0;
}

namespace detail {

/// What a ring over the group runs at when each rank of a domain has its rail, and the tier that says so.
template <class N>
struct RailPace {
  BytesPerSecond<N> bandwidth;
  std::size_t tier = 0;
};

template <class N>
RailPace<N> rail_pace(const std::vector<Link<N>>& links, const TierShares& shares, const Ratio<N>& inner) {
  const auto of_tier = [&](std::size_t i) {
    return i == 0 ? links[0].bandwidth : links[i].bandwidth * inner;
  };
  RailPace<N> pace{of_tier(shares.outermost), shares.outermost};
  for (std::size_t i = shares.outermost; i-- > 0;) {
    if (shares.ranks[i] <= 1) continue;
    const BytesPerSecond<N> here = of_tier(i);
    if (here < pace.bandwidth) pace = {here, i};
  }
  return pace;
}

inline double domains_of(const TierShares& shares) {
  double domains = 1;
  for (std::size_t i = 1; i <= shares.outermost; ++i) domains *= static_cast<double>(shares.ranks[i]);
  return domains;
}

/// A ring over rails, beyond its bytes a launch, a ramp and a hop for each doubling of the domains.
template <class N>
CollectiveCost<N> ramped_ring(Collective kind, const RingIn<N>& ring, const std::vector<Link<N>>& links,
                              const KernelLaw& law, const TierShares& shares, const Ratio<N>& inner,
                              const Sourced<Seconds<>>& launch) {
  const double domains = domains_of(shares);
  const bool reduces = kind == Collective::kAllReduce;
  CollectiveCost<N> cost;
  cost.latency_term = call<CollectiveOverhead>(CollectiveOverhead::In<N>{
      ring.size, leaf<N>("launch of a collective", launch.value, launch.source),
      leaf<N>("ramp", law.ramp.value, law.ramp.source), links[0].latency, inner,
      links[shares.outermost].latency, leaf<N>("domains", domains, "placement of the group"),
      Ratio<N>(N(reduces ? 2.0 : 1.0))});
  cost.bandwidth_term = ring_cost<N>(kind, ring).bandwidth_term;
  return cost;
}

/// Over the torus of a slice; between slices one hop for each doubling of them, as of a ring over rails.
template <class N>
GroupCost<N> ramped_torus(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                          const Cluster& cluster, const Group& group, const Sourced<Seconds<>>& launch) {
  GroupCost<N> result = group_collective<N>(kind, size, links, cluster, group);
  const Seconds<N> start = leaf<N>("launch", launch.value, launch.source);
  if (kind == Collective::kSendRecv || kind == Collective::kAllToAll) {
    result.cost.latency_term += start;
    return result;
  }
  const TierShares shares = members(cluster, group);
  const KernelLaw& law = cluster.device.law;
  Seconds<N> hops{};
  visit_torus<N>(kind, size, links, cluster, group, shares,
                 [&](std::size_t tier, const Bytes<N>&, const CollectiveCost<N>& part) {
                   if (tier == 0) hops += part.latency_term;
                 });
  const Ratio<N> one(N(1.0));
  result.cost.latency_term = hops + call<CollectiveOverhead>(CollectiveOverhead::In<N>{
                                        size, start, leaf<N>("ramp", law.ramp.value, law.ramp.source),
                                        Seconds<N>(N(0.0)), one, links[shares.outermost].latency,
                                        leaf<N>("slices", domains_of(shares), "placement of the group"),
                                        Ratio<N>(N(kind == Collective::kAllReduce ? 2.0 : 1.0))});
  return result;
}

}  // namespace detail

/// `launch` is what starting it takes: the law's of a collective, or of a send.
template <class N>
GroupCost<N> step_collective(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                             const Cluster& cluster, const Group& group, const Sourced<Seconds<>>& launch) {
  if (!has_collective_law(cluster)) return group_collective<N>(kind, size, links, cluster, group);
  GroupCost<N> result;
  if (group.count <= 1) return result;
  if (cluster.torus) return detail::ramped_torus<N>(kind, size, links, cluster, group, launch);
  const TierShares shares = members(cluster, group);
  const Ratio<N> inner = leaf<N>("ranks of a domain, each with its rail",
                                 static_cast<double>(shares.ranks[0]), "placement of the group");
  const detail::RailPace<N> pace =
      detail::rail_pace<N>(links, shares,
                           leaf<N>("rails of the emptiest domain", static_cast<double>(shares.fewest[0]),
                                   "placement of the group"));
  if (cluster.collectives) {
    result.cost = library_ways<N>(kind, size, links, cluster, group, launch, {}).best().cost;
  } else if (kind == Collective::kSendRecv || kind == Collective::kAllToAll) {
    result = group_collective<N>(kind, size, links, cluster, group);
    result.cost.latency_term += leaf<N>("launch", launch.value, launch.source);
    return result;
  } else {
    const RingIn<N> ring{size, detail::rank_count<N>(group.count), pace.bandwidth, Seconds<N>(N(0.0))};
    result.cost = detail::ramped_ring<N>(kind, ring, links, cluster.device.law, shares, inner, launch);
  }
  result.tier = shares.outermost;
  result.paced_by = pace.tier;
  result.paced_bandwidth_term = result.cost.bandwidth_term;
  return result;
}

}  // namespace shardplan
