// Collectives of GPUs that each have their own rail to the network, as NCCL's channels use them.
//
// Rings of several channels leave a node by different NICs: a node's ranks carry the traffic together, and
// the ring runs at the slower of the scale-up link and the node's rails. On top: launch and synchronisation,
// a ramp that grows with the square root of the size (protocol switches, pipeline fill), network hops of a
// tree. For a cluster told by hand, alpha and beta are all there is: cost/group_collectives.h.
#pragma once

#include <cmath>

#include "cost/group_collectives.h"

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

/// Whether the device's collectives are NCCL's, with launch and ramp, or alpha and beta by hand.
inline bool has_rails(const Cluster& cluster) { return cluster.device.law.collective.value.raw() > 0; }

template <class N>
GroupCost<N> rail_collective(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                             const Cluster& cluster, const Group& group) {
  if (!has_rails(cluster) || kind == Collective::kAllToAll || kind == Collective::kSendRecv)
    return group_collective<N>(kind, size, links, cluster, group);
  GroupCost<N> result;
  if (group.count <= 1) return result;
  const TierShares shares = members(cluster, group);
  const Ratio<N> inner = leaf<N>("ranks of a domain, each with its rail",
                                 static_cast<double>(shares.ranks[0]), "placement of the group");
  result.tier = result.paced_by = shares.outermost;
  BytesPerSecond<N> pace =
      links[shares.outermost].bandwidth * (shares.outermost == 0 ? Ratio<N>(N(1.0)) : inner);
  Seconds<N> hop = links[shares.outermost].latency;
  double domains = 1;
  for (std::size_t i = shares.outermost + 1; i-- > 0;) {
    if (shares.ranks[i] <= 1) continue;
    if (i > 0) domains *= static_cast<double>(shares.ranks[i]);
    const BytesPerSecond<N> here = i == 0 ? links[0].bandwidth : links[i].bandwidth * inner;
    if (here < pace) {
      pace = here;
      result.paced_by = i;
    }
  }
  const KernelLaw& law = cluster.device.law;
  const bool reduces = kind == Collective::kAllReduce;
  result.cost.latency_term = call<CollectiveOverhead>(CollectiveOverhead::In<N>{
      size, leaf<N>("launch of a collective", law.collective.value, law.collective.source),
      leaf<N>("ramp", law.ramp.value, law.ramp.source), links[0].latency, inner, hop,
      leaf<N>("domains", domains, "placement of the group"), Ratio<N>(N(reduces ? 2.0 : 1.0))});
  const RingIn<N> ring{size, detail::rank_count<N>(group.count), pace, Seconds<N>(N(0.0))};
  result.cost.bandwidth_term = ring_cost<N>(kind, ring).bandwidth_term;
  result.paced_bandwidth_term = result.cost.bandwidth_term;
  return result;
}

}  // namespace shardplan
