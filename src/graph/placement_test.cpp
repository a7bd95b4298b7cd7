#include "graph/placement.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>

namespace shardplan {
namespace {

Cluster nodes_of(std::int64_t node, std::int64_t gpus) {
  Cluster c;
  c.gpus = gpus;
  c.tiers.resize(2);
  c.tiers[0].size = node;
  c.tiers[1].size = gpus;
  return c;
}

Plan pipeline(std::int32_t tp, std::int32_t pp) {
  Plan p;
  p.tp = tp;
  p.pp = pp;
  return p;
}

TEST(Placement, AGroupThatFitsItsNodeStaysThere) {
  const TierShares inside = members(nodes_of(8, 64), {1, 8});
  EXPECT_EQ(inside.outermost, 0U);
  EXPECT_EQ(inside.ranks[0], 8);
  const TierShares across = members(nodes_of(8, 64), {8, 8});
  EXPECT_EQ(across.outermost, 1U);
  EXPECT_EQ(across.ranks[0], 1);
  EXPECT_EQ(across.ranks[1], 8);
}

TEST(Placement, NodesThatAreNotFull) {
  const TierShares shares = members(nodes_of(8, 12), {1, 12});
  EXPECT_EQ(shares.ranks[0], 8);
  EXPECT_EQ(shares.fewest[0], 4);
  EXPECT_EQ(shares.ranks[1], 2);
}

TEST(Placement, GroupsThatDoNotDivideTheNodeCrossIt) {
  // Groups of 6 in nodes of 8: the second holds ranks 6 to 11, two of them in the first node.
  const TierShares six = members(nodes_of(8, 24), {1, 6});
  EXPECT_EQ(six.outermost, 1U);
  EXPECT_EQ(six.ranks[0], 4);
  EXPECT_EQ(six.fewest[0], 2);
  EXPECT_EQ(members(nodes_of(8, 6), {1, 6}).outermost, 0U) << "there is only one node";
  EXPECT_EQ(members(nodes_of(6, 24), {1, 6}).outermost, 0U);
}

TEST(Placement, ThePipelineIsPricedAtItsSlowestHop) {
  const auto tier = [](std::int32_t tp, std::int32_t pp) {
    return members(nodes_of(8, 64), pipeline_pair(pipeline(tp, pp))).outermost;
  };
  EXPECT_EQ(tier(2, 4), 0U) << "all stages in one node";
  EXPECT_EQ(tier(4, 4), 1U) << "stages 1 and 2 are in different nodes";
  EXPECT_EQ(tier(3, 3), 1U) << "nine GPUs";
  EXPECT_EQ(tier(8, 2), 1U);
}

TEST(Placement, ShardGroupsAndTheirReplicas) {
  Plan p;
  p.dp = 16;
  p.tp = 2;
  p.ep = 4;
  EXPECT_EQ(dense_shard_group(p).count, 16);
  EXPECT_EQ(dense_shard_replicas(p).count, 1);
  p.shard_group = 4;
  EXPECT_EQ(dense_shard_group(p).count, 4);
  EXPECT_EQ(dense_shard_replicas(p).stride, 8);
  EXPECT_EQ(dense_shard_replicas(p).count, 4);
  // 8 ranks of a shard group hold the 4 groups of experts twice.
  EXPECT_EQ(expert_shard_group(p).count, 2);
  EXPECT_EQ(expert_shard_replicas(p).count, 4);
}

/// The GPUs of the group that the first one is in.
std::set<std::int64_t> gpus_of(const Group& group) {
  std::set<std::int64_t> gpus;
  for (std::int64_t row = 0; row < group.rows(); ++row)
    for (std::int64_t i = 0; i < group.in_row(); ++i) gpus.insert(row * group.jump + i * group.stride);
  return gpus;
}

/// The same, counted out: those that differ from the first one in these axes alone.
std::set<std::int64_t> counted_out(const Plan& p, const std::set<RankAxis>& axes) {
  std::set<std::int64_t> gpus;
  for (std::int64_t gpu = 0; gpu < p.gpus(); ++gpu) {
    std::int64_t rest = gpu;
    bool inside = true;
    for (const RankAxis axis : p.rank_order.axes()) {
      inside = inside && (axes.count(axis) > 0 || rest % degree_of(p, axis) == 0);
      rest /= degree_of(p, axis);
    }
    if (inside) gpus.insert(gpu);
  }
  return gpus;
}

std::set<std::int64_t> every_nth(const std::set<std::int64_t>& gpus, std::int64_t n, std::int64_t most) {
  std::set<std::int64_t> found;
  std::int64_t i = 0;
  for (const std::int64_t gpu : gpus)
    if (i++ % n == 0 && static_cast<std::int64_t>(found.size()) < most) found.insert(gpu);
  return found;
}

class RankOrders : public testing::TestWithParam<int> {
 protected:
  static Plan plan() {
    Plan p;
    p.tp = 2;
    p.cp = 4;
    p.dp = 8;
    p.pp = 2;
    p.ep = 4;
    p.rank_order = {static_cast<std::int8_t>(GetParam())};
    return p;
  }
};

TEST_P(RankOrders, GroupsAreThoseCountedOut) {
  Plan p = plan();
  EXPECT_EQ(gpus_of(tensor_group(p)), counted_out(p, {RankAxis::kTp}));
  EXPECT_EQ(gpus_of(context_group(p)), counted_out(p, {RankAxis::kCp}));
  const auto replicas = counted_out(p, {RankAxis::kCp, RankAxis::kDp});
  EXPECT_EQ(gpus_of(dense_replicas(p)), replicas);
  const auto stage = counted_out(p, {RankAxis::kTp, RankAxis::kCp, RankAxis::kDp});
  EXPECT_EQ(gpus_of(stage_ranks(p)), stage);
  EXPECT_EQ(stride_of(p, RankAxis::kPp), *std::next(counted_out(p, {RankAxis::kPp}).begin()));
  for (p.shard_group = 2; p.shard_group < p.replicas(); p.shard_group *= 2) {
    EXPECT_EQ(gpus_of(dense_shard_group(p)), every_nth(replicas, 1, p.shard_group)) << p.shard_group;
    EXPECT_EQ(gpus_of(dense_shard_replicas(p)), every_nth(replicas, p.shard_group, p.replicas()));
  }
  if (stage_ranks(p).in_row() % p.ep != 0) return;  // such plans are not legal
  EXPECT_EQ(gpus_of(expert_group(p)), every_nth(stage, 1, p.ep));
  EXPECT_EQ(gpus_of(expert_replicas(p)), every_nth(stage, p.ep, p.gpus()));
}

TEST_P(RankOrders, TiersHoldThoseCountedOut) {
  const Plan p = plan();
  const auto inside = [](const std::set<std::int64_t>& gpus, std::int64_t size) {
    return static_cast<std::int64_t>(std::distance(gpus.begin(), gpus.lower_bound(size)));
  };
  for (const std::int64_t node : {2, 4, 8, 16, 32, 64}) {
    for (const Group& group :
         {tensor_group(p), context_group(p), dense_replicas(p), stage_ranks(p), expert_replicas(p)}) {
      const TierShares shares = members(nodes_of(node, p.gpus()), group);
      EXPECT_EQ(shares.ranks[0], inside(gpus_of(group), node)) << name(p.rank_order) << " nodes of " << node;
      EXPECT_EQ(shares.ranks[0] * shares.ranks[1], group.count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RankOrders, testing::Range(0, static_cast<int>(kRankOrders)));

}  // namespace
}  // namespace shardplan
