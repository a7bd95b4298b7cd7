// Collectives over the torus of a slice, against the worked problems of How to Scale Your Model.
#include <gtest/gtest.h>

#include "cost/step_collectives.h"
#include "import/cluster_build.h"

namespace shardplan {
namespace {

/// A slice whose links do what the book says, `link` GB/s each and direction.
Cluster slice(const char* device, std::int64_t gpus, double link,
              std::optional<std::int64_t> chips = std::nullopt) {
  Cluster cluster = usual_cluster(catalog(), **find_device(catalog(), device, ""), gpus, chips).value();
  cluster.tiers[0].bandwidth.value = gigabytes_per_s(link * 2 * static_cast<double>(cluster.torus->axes));
  cluster.tiers[0].latency.value = microseconds(1);
  return cluster;
}

CollectiveCost<double> cost_of(const Cluster& cluster, Collective kind, double size, const Group& group) {
  return group_collective<double>(kind, bytes(size), cluster_links<double>(cluster), cluster, group).cost;
}

TEST(TorusCollectives, GathersOfAV4CubeTakeWhatTheBookWorksOut) {
  const Cluster cube = slice("tpu-v4", 64, 45);
  const double array = 2.0 * 1024 * 4096;
  const auto gather = [&](double size, const Group& group) {
    return cost_of(cube, Collective::kAllGather, size, group).bandwidth_term.raw();
  };
  EXPECT_NEAR(gather(array / 4, {1, 4}), 23e-6, 1e-6);  // question 2.1: over X
  EXPECT_NEAR(gather(array, {1, 16}), 46e-6, 1e-6);     // 2.2: over X and Y
  EXPECT_NEAR(cost_of(cube, Collective::kAllReduce, array, {16, 4}).bandwidth_term.raw(), 190e-6, 4e-6);
  EXPECT_NEAR(cost_of(cube, Collective::kAllGather, 256, {1, 4}).total().raw(), 2e-6, 1e-8);  // question 3
}

TEST(TorusCollectives, ALineOfFourWaitsForThreeHops) {
  // Pop quiz 2: 34 MB over an axis of 4 of a v5e slice of 4x8, which has no ring.
  const Cluster mesh = slice("tpu-v5e", 32, 45);
  EXPECT_EQ(shape_text(*mesh.torus), "4x8");
  const CollectiveCost<double> cost = cost_of(mesh, Collective::kAllGather, 2.0 * 2048 * 8192, {1, 4});
  EXPECT_NEAR(cost.bandwidth_term.raw(), 560e-6, 2e-6);
  EXPECT_NEAR(cost.latency_term.raw(), 3e-6, 1e-12);
}

TEST(TorusCollectives, AnAllToAllOnARingIsAQuarterOfAGather) {
  const Cluster pod = slice("tpu-v5e", 256, 45);
  const double array = 16e9;  // of which a rank sends a sixteenth
  const double gather = cost_of(pod, Collective::kAllGather, array, {1, 16}).bandwidth_term.raw();
  const double exchange = cost_of(pod, Collective::kAllToAll, array / 16, {1, 16}).bandwidth_term.raw();
  EXPECT_NEAR(exchange / gather, 0.25, 1e-12);
}

TEST(TorusCollectives, GroupsThatLieBetweenEachOtherShareTheLinks) {
  const Cluster cube = slice("tpu-v5p", 64, 90);
  const double apart = cost_of(cube, Collective::kAllGather, 1e9, {2, 2}).bandwidth_term.raw();
  const double beside = cost_of(cube, Collective::kAllGather, 1e9, {1, 4}).bandwidth_term.raw();
  EXPECT_NEAR(apart / beside, 2.0, 1e-12);  // two groups on one ring of four
}

TEST(TorusCollectives, SlicesReduceOverTheNetworkWhatTheyHaveLeft) {
  const Cluster slices = slice("tpu-v5p", 128, 90, 64);
  ASSERT_EQ(slices.tiers.size(), 2U);
  EXPECT_EQ(shape_text(*slices.torus), "4x4x4");
  const auto links = cluster_links<double>(slices);
  const GroupCost<> cost =
      group_collective<double>(Collective::kAllReduce, gigabytes(1), links, slices, {1, 128});
  const double inside = 2.0 * 1e9 / 540e9, outside = 2.0 / 2 * 1e9 / 64 / links[1].bandwidth.raw();
  EXPECT_NEAR(cost.cost.bandwidth_term.raw(), inside + outside, 1e-12);
  EXPECT_NEAR(cost.paced_bandwidth_term.raw(), outside, 1e-12);
  EXPECT_TRUE(cost.hierarchical);
}

TEST(TorusCollectives, TheStepsOfAPlanPayTheSameAfterALaunch) {
  const Cluster cube = slice("tpu-v5p", 64, 90);
  const auto& launch = cube.device.law.collective;
  for (const Group& group : {Group{1, 4}, Group{4, 16}, Group{1, 64}}) {
    const auto links = cluster_links<double>(cube);
    const auto step =
        step_collective<double>(Collective::kAllGather, mebibytes(1), links, cube, group, launch);
    const auto alone = group_collective<double>(Collective::kAllGather, mebibytes(1), links, cube, group);
    EXPECT_NEAR((step.cost.total() - alone.cost.total()).raw(),
                (launch.value + cube.device.law.ramp.value).raw(), 1e-12);
  }
}

TEST(TorusCollectives, StagesSendToTheirNeighboursAndNotAcrossTheSlice) {
  const Cluster pod = slice("tpu-v5e", 256, 45);
  Plan plan;
  plan.tp = 16;
  plan.pp = 16;
  EXPECT_EQ(pipeline_senders(pod, plan).stride, 16);
  const Cluster slices = slice("tpu-v5p", 128, 90, 64);
  plan.tp = 8;
  EXPECT_EQ(pipeline_senders(slices, plan).stride, pipeline_pair(plan).stride);
}

TEST(TorusCollectives, TheTraceIsTheNumber) {
  const Cluster slices = slice("tpu-v5p", 128, 90, 64);
  for (int kind = 0; kind < kCollectiveCount; ++kind) {
    for (const Group& group : {Group{1, 8}, Group{2, 32}, Group{1, 128}}) {
      const auto number =
          step_collective<double>(static_cast<Collective>(kind), mebibytes(3), cluster_links<double>(slices),
                                  slices, group, slices.device.law.collective);
      const auto traced =
          step_collective<Traced>(static_cast<Collective>(kind), Bytes<Traced>(Traced(mebibytes(3).raw())),
                                  cluster_links<Traced>(slices), slices, group, slices.device.law.collective);
      EXPECT_EQ(value_of(traced.cost.total()), number.cost.total().raw());
    }
  }
}

}  // namespace
}  // namespace shardplan
