// Where the ranks of a group sit: how many of them share each tier of the cluster.
//
// Ranks are placed innermost first in the order tensor, context, data, pipeline; expert groups take
// consecutive ranks of tensor x context x data. A group is `count` ranks, `stride` GPUs apart.
//
//   members(cluster, {8, 8})   // 8 ranks, one in each 8-GPU node: {1 in the node, 8 on the network}
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "catalog/cluster.h"
#include "catalog/plan.h"

namespace shardplan {

inline constexpr std::size_t kMaxTiers = 6;

struct Group {
  std::int64_t stride = 1;
  std::int64_t count = 1;
  std::int64_t span() const { return stride * count; }
};

/// For each tier, into how many parts the group is cut there: their product is the group's size.
/// A ring inside tier i joins `ranks[i]` ranks; the tiers below it have already been reduced.
struct TierShares {
  std::array<std::int64_t, kMaxTiers> ranks{};
  /// The same in the emptiest unit of the tier: 4 of 8 where 12 ranks fill one node and half of another.
  std::array<std::int64_t, kMaxTiers> fewest{};
  std::size_t tiers = 0;
  /// The outermost tier that the group crosses.
  std::size_t outermost = 0;
};

/// Whether some group of these consecutive ones lies across a boundary of the tier though it would fit in it:
/// groups of 6 in nodes of 8.
inline bool straddles(const Cluster& cluster, std::size_t tier, const Group& group) {
  const std::int64_t size = cluster.tiers[tier].size;
  return group.span() <= size && size % group.span() != 0 && cluster.gpus > size;
}

inline TierShares members(const Cluster& cluster, const Group& group) {
  TierShares shares;
  shares.tiers = cluster.tiers.size();
  std::int64_t inside = 1;  // ranks of the group inside one unit of the tier below
  for (std::size_t i = 0; i < shares.tiers; ++i) {
    const bool last = i + 1 == shares.tiers;
    std::int64_t held = last ? group.count : cluster.tiers[i].size / group.stride;
    if (!last && group.count > 1 && straddles(cluster, i, group)) {
      // The smallest piece of a group on the far side of a boundary.
      const std::int64_t piece = std::gcd(cluster.tiers[i].size, group.span()) / group.stride;
      held = group.count - (piece < 1 ? 1 : piece);
    }
    held = held < inside ? inside : (held > group.count ? group.count : held);
    // A group that does not fill whole units still needs the next tier for the rest: round up.
    shares.ranks[i] = last ? (group.count + inside - 1) / inside : held / inside;
    if (shares.ranks[i] < 1) shares.ranks[i] = 1;
    const std::int64_t left_over = group.count % (inside * shares.ranks[i]);
    shares.fewest[i] = left_over == 0 || last ? shares.ranks[i] : (left_over + inside - 1) / inside;
    inside *= shares.ranks[i];
    if (shares.ranks[i] > 1) shares.outermost = i;
  }
  return shares;
}

inline Group tensor_group(const Plan& p) { return {1, p.tp}; }
inline Group context_group(const Plan& p) { return {p.tp, p.cp}; }
/// Ranks that hold the same dense weights: data and context parallel together.
inline Group dense_replicas(const Plan& p) { return {p.tp, std::int64_t{p.dp} * p.cp}; }
/// Those of them that ZeRO shards over: consecutive ones, all of them unless a shard group was told.
inline Group dense_shard_group(const Plan& p) {
  const Group all = dense_replicas(p);
  return {all.stride, p.shard_group > 0 ? p.shard_group : all.count};
}
/// One rank of each shard group: those that hold the same shard.
inline Group dense_shard_replicas(const Plan& p) {
  const Group shards = dense_shard_group(p);
  return {shards.span(), dense_replicas(p).count / shards.count};
}
inline Group expert_group(const Plan& p) { return {p.etp, p.ep}; }
/// Ranks that hold the same experts.
inline Group expert_replicas(const Plan& p) {
  const std::int64_t stride = std::int64_t{p.ep} * p.etp;
  return {stride, std::int64_t{p.dp} * p.cp * p.tp / stride};
}
/// Those of them inside one dense shard group; one where the experts fill more than a group.
inline Group expert_shard_group(const Plan& p) {
  const Group all = expert_replicas(p);
  if (p.shard_group == 0) return all;
  const std::int64_t count = std::int64_t{p.shard_group} * p.tp / all.stride;
  return {all.stride, count < 1 ? 1 : count};
}
inline Group expert_shard_replicas(const Plan& p) {
  const Group shards = expert_shard_group(p);
  return {shards.span(), expert_replicas(p).count / shards.count};
}
/// Neighbouring pipeline stages at the slowest hop: two ranks half the pipeline apart, which a tier holds
/// both of only if it holds the whole pipeline, so that no hop leaves it.
inline Group pipeline_pair(const Plan& p) {
  const std::int64_t whole = std::int64_t{p.tp} * p.cp * p.dp * p.pp;
  return {(whole + 1) / 2, p.pp > 1 ? 2 : 1};
}
/// The pair that sends between stages: inside one slice of a torus stages next to each other, as a farther
/// one would share more links than any does.
inline Group pipeline_senders(const Cluster& cluster, const Plan& p) {
  const Group pair = pipeline_pair(p);
  if (!cluster.torus || members(cluster, pair).outermost > 0) return pair;
  return {std::int64_t{p.tp} * p.cp * p.dp, pair.count};
}

}  // namespace shardplan
