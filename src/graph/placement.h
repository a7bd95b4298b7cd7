// Where the ranks of a group sit: how many of them share each tier of the cluster.
//
// Ranks are numbered axis by axis, the innermost first, in the plan's order: tensor, context, data, pipeline
// unless told otherwise. Expert groups take consecutive ranks of tensor x context x data. A group is `count`
// ranks, `stride` GPUs apart; where another axis lies between the two that make it, rows of such ranks.
//
//   members(cluster, {8, 8})   // 8 ranks, one in each 8-GPU node: {1 in the node, 8 on the network}
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

#include "catalog/cluster.h"
#include "catalog/plan.h"

namespace shardplan {

inline constexpr std::size_t kMaxTiers = 6;

struct Group {
  std::int64_t stride = 1;
  std::int64_t count = 1;
  // Where the ranks are not equally far apart: how many are before a jump, and GPUs from one row to the next.
  std::int64_t row = 0;  // 0 = all are in one
  std::int64_t jump = 1;
  std::int64_t in_row() const { return row > 0 ? row : count; }
  std::int64_t rows() const { return count / in_row(); }
  std::int64_t span() const { return rows() > 1 ? jump * rows() : stride * count; }
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

/// Of so many ranks equally far apart, those that one unit of the tier holds.
inline std::int64_t held_in(const Cluster& cluster, std::size_t tier, const Group& row) {
  const std::int64_t size = cluster.tiers[tier].size;
  if (row.count > 1 && straddles(cluster, tier, row)) {
    // All but the smallest piece on the far side of a boundary.
    const std::int64_t piece = std::gcd(size, row.span()) / row.stride;
    return row.count - (piece < 1 ? 1 : piece);
  }
  return size / row.stride;
}

inline TierShares members(const Cluster& cluster, const Group& group) {
  TierShares shares;
  shares.tiers = cluster.tiers.size();
  std::int64_t inside = 1;  // ranks of the group inside one unit of the tier below
  for (std::size_t i = 0; i < shares.tiers; ++i) {
    const bool last = i + 1 == shares.tiers;
    std::int64_t held = group.count;
    if (!last) held = held_in(cluster, i, {group.stride, group.in_row()});
    if (!last && group.rows() > 1) {
      held = std::clamp<std::int64_t>(held, 1, group.in_row());
      if (held == group.in_row())
        held *= std::max<std::int64_t>(1, held_in(cluster, i, {group.jump, group.rows()}));
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

/// GPUs from one rank of an axis to the next.
inline std::int64_t stride_of(const Plan& p, RankAxis axis) {
  std::int64_t stride = 1;
  for (const RankAxis inner : p.rank_order.axes()) {
    if (inner == axis) break;
    stride *= degree_of(p, inner);
  }
  return stride;
}

/// The ranks of one axis.
inline Group ranks_of(const Plan& p, RankAxis axis) { return {stride_of(p, axis), degree_of(p, axis)}; }

/// The ranks of two axes together.
inline Group joined(const Group& a, const Group& b) {
  const Group &inner = a.stride <= b.stride ? a : b, &outer = a.stride <= b.stride ? b : a;
  if (inner.count == 1) return outer;
  if (outer.count == 1 || outer.stride == inner.span()) return {inner.stride, inner.count * outer.count};
  return {inner.stride, inner.count * outer.count, inner.count, outer.stride};
}
/// The first ranks of a group: part of a row or whole rows.
inline Group first_of(const Group& group, std::int64_t count) {
  if (count <= group.in_row()) return {group.stride, count};
  return {group.stride, count, group.row, group.jump};
}
/// Every n-th rank of a group: n divides a row or is whole rows.
inline Group every(const Group& group, std::int64_t n) {
  const std::int64_t count = group.count / n;
  if (group.rows() == 1) return {group.stride * n, count};
  if (n >= group.in_row()) return {group.jump * (n / group.in_row()), count};
  return {group.stride * n, count, group.in_row() / n, group.jump};
}
/// Whether so many ranks are part of a row or whole rows.
inline bool cuts_rows_evenly(const Group& group, std::int64_t ranks) {
  return group.in_row() % ranks == 0 || ranks % group.in_row() == 0;
}

inline Group tensor_group(const Plan& p) { return ranks_of(p, RankAxis::kTp); }
inline Group context_group(const Plan& p) { return ranks_of(p, RankAxis::kCp); }
/// How many ranks the groups below have, whatever their order.
inline std::int64_t dense_shards(const Plan& p) { return p.shard_group > 0 ? p.shard_group : p.replicas(); }
inline std::int64_t expert_copies(const Plan& p) {
  return p.replicas() * p.tp / (std::int64_t{p.ep} * p.etp);
}
inline std::int64_t expert_shards(const Plan& p) {
  if (p.shard_group == 0) return expert_copies(p);
  return std::max<std::int64_t>(1, std::int64_t{p.shard_group} * p.tp / (std::int64_t{p.ep} * p.etp));
}

/// Ranks that hold the same dense weights: data and context parallel together.
inline Group dense_replicas(const Plan& p) {
  return joined(ranks_of(p, RankAxis::kCp), ranks_of(p, RankAxis::kDp));
}
/// Those of them that ZeRO shards over: consecutive ones, all of them unless a shard group was told.
inline Group dense_shard_group(const Plan& p) { return first_of(dense_replicas(p), dense_shards(p)); }
/// One rank of each shard group: those that hold the same shard.
inline Group dense_shard_replicas(const Plan& p) { return every(dense_replicas(p), dense_shards(p)); }
/// The ranks of a pipeline stage.
inline Group stage_ranks(const Plan& p) {
  const std::int64_t inside = stride_of(p, RankAxis::kPp), all = std::int64_t{p.dp} * p.cp * p.tp;
  if (inside == all || p.pp == 1) return {1, all};
  if (inside == 1) return {p.pp, all};
  return {1, all, inside, inside * p.pp};
}
inline Group expert_group(const Plan& p) { return first_of(every(stage_ranks(p), p.etp), p.ep); }
/// Ranks that hold the same experts.
inline Group expert_replicas(const Plan& p) { return every(stage_ranks(p), std::int64_t{p.ep} * p.etp); }
/// Those of them inside one dense shard group; one where the experts fill more than a group.
inline Group expert_shard_group(const Plan& p) { return first_of(expert_replicas(p), expert_shards(p)); }
inline Group expert_shard_replicas(const Plan& p) { return every(expert_replicas(p), expert_shards(p)); }
/// Neighbouring pipeline stages at the slowest hop: two ranks half the pipeline apart, which a tier holds
/// both of only if it holds the whole pipeline, so that no hop leaves it.
inline Group pipeline_pair(const Plan& p) {
  const std::int64_t whole = ranks_of(p, RankAxis::kPp).span();
  return {(whole + 1) / 2, p.pp > 1 ? 2 : 1};
}
/// The pair that sends between stages: inside one slice of a torus stages next to each other, as a farther
/// one would share more links than any does.
inline Group pipeline_senders(const Cluster& cluster, const Plan& p) {
  const Group pair = pipeline_pair(p);
  if (!cluster.torus || members(cluster, pair).outermost > 0) return pair;
  return {stride_of(p, RankAxis::kPp), pair.count};
}

/// How many ranks of each axis every tier holds, and how the groups that ZeRO may cut lie in rows.
struct Placed {
  std::array<std::array<std::int64_t, kMaxTiers>, kRankAxes> ranks{};
  Group dense, experts;
  /// Whether a plan that differs in the order of its ranks alone has every group on the same tiers, so that
  /// it takes as long, and shards in no way that this one does not.
  bool stands_for(const Placed& other) const {
    const auto cuts_as = [](const Group& own, const Group& its) {
      return own.rows() == 1 || own.in_row() == its.in_row();
    };
    return ranks == other.ranks && cuts_as(dense, other.dense) && cuts_as(experts, other.experts);
  }
};
/// Nothing where some axis is cut by a tier unevenly: there more than this decides.
inline std::optional<Placed> placed(const Cluster& cluster, const Plan& p) {
  Placed found;
  found.dense = dense_replicas(p);
  found.experts = expert_replicas(p);
  std::int64_t inside = 1;
  for (const RankAxis axis : p.rank_order.axes()) {
    const Group ranks{inside, degree_of(p, axis)};
    inside *= ranks.count;
    for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i) {
      const std::int64_t size = cluster.tiers[i].size;
      if (size % inside != 0 && inside % size != 0) return std::nullopt;
    }
    found.ranks[static_cast<std::size_t>(axis)] = members(cluster, ranks).ranks;
  }
  return found;
}

}  // namespace shardplan
