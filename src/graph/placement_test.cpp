#include "graph/placement.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace shardplan
