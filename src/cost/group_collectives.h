// A collective of a group that may cross tiers of the cluster: flat ring or tier by tier, whichever is
// faster.
//
// Tier by tier: reduce-scatter inside each tier, the outermost one carries the remaining share, all-gather
// back. A flat ring runs at the pace of the slowest link it crosses: each step waits for it. Inside a slice
// of TPUs the links are those of a torus (torus_collectives.h).
//
//   auto cost = group_collective<double>(Collective::kAllReduce, gradient_bytes, cluster_links,
//   dense_shard_group(plan));
#pragma once

#include <cstdint>
#include <vector>

#include "cost/collectives.h"
#include "cost/torus_collectives.h"
#include "graph/placement.h"

namespace shardplan {

/// One tier's link as a formula input.
template <class N>
struct Link {
  BytesPerSecond<N> bandwidth;
  Seconds<N> latency;
};

/// The links of a cluster, oversubscription applied, innermost first, ready as formula inputs.
template <class N>
std::vector<Link<N>> cluster_links(const Cluster& cluster) {
  std::vector<Link<N>> links;
  for (const Tier& tier : cluster.tiers) {
    const BytesPerSecond<> bandwidth(tier.bandwidth.value.raw() / tier.oversubscription.value.raw());
    links.push_back({leaf<N>(tier.name + " bandwidth", bandwidth, tier.bandwidth.source),
                     leaf<N>(tier.name + " latency", tier.latency.value, tier.latency.source)});
  }
  return links;
}

template <class N = double>
struct GroupCost {
  CollectiveCost<N> cost;
  std::size_t tier = 0;       // the outermost one it crosses
  bool hierarchical = false;  // tier by tier was faster than the flat ring
  /// The tier that a faster link would be bought for: the outermost one or, in a flat ring, the slowest.
  std::size_t paced_by = 0;
  Seconds<N> paced_bandwidth_term{};  // the part of cost.bandwidth_term that paced_by takes

  /// A second collective that follows the first on the same tiers.
  GroupCost& operator+=(const GroupCost& more) {
    cost.latency_term += more.cost.latency_term;
    cost.bandwidth_term += more.cost.bandwidth_term;
    paced_bandwidth_term += more.paced_bandwidth_term;
    return *this;
  }
};

/// What sets the pace of a ring through every rank of a group.
template <class N>
struct Pace {
  Link<N> link;          // the lowest bandwidth and the highest latency among the tiers crossed
  std::size_t tier = 0;  // of the bandwidth
};

template <class N>
Pace<N> ring_pace(const std::vector<Link<N>>& links, const TierShares& shares) {
  Pace<N> pace{links[shares.outermost], shares.outermost};
  for (std::size_t i = shares.outermost; i-- > 0;) {
    if (shares.ranks[i] <= 1) continue;
    if (links[i].bandwidth < pace.link.bandwidth) {
      pace.link.bandwidth = links[i].bandwidth;
      pace.tier = i;
    }
    if (links[i].latency > pace.link.latency) pace.link.latency = links[i].latency;
  }
  return pace;
}

namespace detail {

template <class N>
Ratio<N> rank_count(std::int64_t n) {
  return leaf<N>("ranks", static_cast<double>(n), "placement of the group");
}

}  // namespace detail

/// Calls visit(tier, RingIn) for each tier that joins ranks of the group, with the share of the vector it
/// carries. An all-reduce inside an inner tier is its reduce-scatter and its all-gather: together the same
/// terms.
template <class N, class Visit>
void visit_tiers(const Bytes<N>& size, const std::vector<Link<N>>& links, const TierShares& shares,
                 Visit visit) {
  Bytes<N> share = size;
  for (std::size_t i = 0; i <= shares.outermost; ++i) {
    if (shares.ranks[i] <= 1) continue;
    const RingIn<N> in{share, detail::rank_count<N>(shares.ranks[i]), links[i].bandwidth, links[i].latency};
    visit(i, in);
    // Where units are not all full, the ranks of the emptiest carry the most.
    share = share / detail::rank_count<N>(shares.fewest[i]);
  }
}

namespace detail {

template <class N>
CollectiveCost<N> tier_by_tier(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                               const TierShares& shares, Seconds<N>& outermost) {
  CollectiveCost<N> sum;
  visit_tiers<N>(size, links, shares, [&](std::size_t, const RingIn<N>& in) {
    const CollectiveCost<N> part = ring_cost<N>(kind, in);
    sum.latency_term += part.latency_term;
    sum.bandwidth_term += part.bandwidth_term;
    outermost = part.bandwidth_term;
  });
  return sum;
}

}  // namespace detail

/// All-to-all, every pair exchanging directly: calls visit(tier, bytes, cost) for each tier that joins ranks,
/// where what leaves a tier pays the bandwidth and one latency of the next.
template <class N, class Visit>
void visit_peers(const Bytes<N>& size, const std::vector<Link<N>>& links, const TierShares& shares,
                 std::int64_t count, Visit visit) {
  std::int64_t inside = 1;
  for (std::size_t i = 0; i <= shares.outermost; ++i) {
    const std::int64_t held = inside * shares.ranks[i];
    if (held > inside) {
      const double peers = static_cast<double>(held - inside) / static_cast<double>(count);
      const Bytes<N> bytes = size * leaf<N>("share of the peers in this tier", peers, "placement");
      visit(i, bytes,
            CollectiveCost<N>{links[i].latency,
                              call<ChainBandwidth>(ChainBandwidth::In<N>{bytes, links[i].bandwidth})});
    }
    inside = held;
  }
}

namespace detail {

template <class N>
CollectiveCost<N> all_to_all_over_tiers(const Bytes<N>& size, const std::vector<Link<N>>& links,
                                        const TierShares& shares, std::int64_t count, Seconds<N>& outermost) {
  CollectiveCost<N> sum;
  visit_peers<N>(size, links, shares, count,
                 [&](std::size_t, const Bytes<N>&, const CollectiveCost<N>& part) {
                   sum.bandwidth_term += part.bandwidth_term;
                   outermost = part.bandwidth_term;
                   sum.latency_term += part.latency_term;
                 });
  return sum;
}

}  // namespace detail

namespace detail {

/// Adds the tiers beyond a slice, where each of its ranks carries what is left of the vector.
template <class N, class Visit>
void visit_slices(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                  const TierShares& shares, std::int64_t count, Visit visit) {
  if (kind == Collective::kAllToAll) {
    visit_peers<N>(size, links, shares, count,
                   [&](std::size_t i, const Bytes<N>& bytes, const CollectiveCost<N>& part) {
                     if (i > 0) visit(i, bytes, part);
                   });
    return;
  }
  if (kind == Collective::kSendRecv || kind == Collective::kBroadcast) {
    if (shares.outermost == 0) return;
    const Link<N>& link = links[shares.outermost];
    const std::int64_t slices = (count + shares.ranks[0] - 1) / shares.ranks[0];
    visit(shares.outermost, size,
          ring_cost<N>(kind, {size, rank_count<N>(slices), link.bandwidth, link.latency}));
    return;
  }
  visit_tiers<N>(size, links, shares, [&](std::size_t i, const RingIn<N>& in) {
    if (i > 0) visit(i, in.size, ring_cost<N>(kind, in));
  });
}

}  // namespace detail

/// Slices of a torus, joined by a network: calls visit(tier, bytes, cost) for each tier that joins ranks of
/// the group. Of an all-to-all, what stays in the slice counts a rank's own share.
template <class N, class Visit>
void visit_torus(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                 const Cluster& cluster, const Group& group, const TierShares& shares, Visit visit) {
  const std::int64_t inside = shares.ranks[0];
  const bool sent_away = kind == Collective::kSendRecv && shares.outermost > 0;
  if (inside > 1 && !sent_away) {
    const TorusLayout layout = torus_layout(*cluster.torus, {group.stride, inside});
    const bool part = kind == Collective::kAllToAll && inside < group.count;
    const double share = static_cast<double>(inside) / static_cast<double>(group.count);
    const Bytes<N> bytes =
        part ? size * leaf<N>("share of the peers in the slice", share, "placement of the group") : size;
    visit(std::size_t{0}, bytes,
          torus_cost<N>(kind, bytes, inside, *cluster.torus, layout, links[0].bandwidth, links[0].latency));
  }
  detail::visit_slices<N>(kind, size, links, shares, group.count, visit);
}

namespace detail {

template <class N>
GroupCost<N> torus_group(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                         const Cluster& cluster, const Group& group) {
  GroupCost<N> result;
  const TierShares shares = members(cluster, group);
  result.tier = result.paced_by = shares.outermost;
  result.hierarchical = shares.outermost > 0 && shares.ranks[0] > 1;
  visit_torus<N>(kind, size, links, cluster, group, shares,
                 [&](std::size_t, const Bytes<N>&, const CollectiveCost<N>& part) {
                   result.cost.latency_term += part.latency_term;
                   result.cost.bandwidth_term += part.bandwidth_term;
                   result.paced_bandwidth_term = part.bandwidth_term;
                 });
  return result;
}

}  // namespace detail

template <class N>
GroupCost<N> group_collective(Collective kind, const Bytes<N>& size, const std::vector<Link<N>>& links,
                              const Cluster& cluster, const Group& group) {
  GroupCost<N> result;
  if (group.count <= 1) return result;
  if (cluster.torus) return detail::torus_group<N>(kind, size, links, cluster, group);
  const TierShares shares = members(cluster, group);
  result.tier = result.paced_by = shares.outermost;
  if (kind == Collective::kAllToAll) {
    result.cost =
        detail::all_to_all_over_tiers<N>(size, links, shares, group.count, result.paced_bandwidth_term);
    return result;
  }
  const Pace<N> pace = ring_pace<N>(links, shares);
  const RingIn<N> flat{size, detail::rank_count<N>(group.count), pace.link.bandwidth, pace.link.latency};
  result.cost = ring_cost<N>(kind, flat);
  result.paced_by = pace.tier;
  result.paced_bandwidth_term = result.cost.bandwidth_term;
  if (shares.outermost == 0 || kind == Collective::kBroadcast || kind == Collective::kSendRecv) return result;
  Seconds<N> outermost{};
  const CollectiveCost<N> tiered = detail::tier_by_tier<N>(kind, size, links, shares, outermost);
  if (tiered.total() < result.cost.total()) {
    result = {tiered, shares.outermost, true, shares.outermost, outermost};
  }
  return result;
}

}  // namespace shardplan
