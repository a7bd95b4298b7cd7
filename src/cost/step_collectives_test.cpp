// Collectives of a step: the library's where one is known, rails and a ramp where none is.
#include "cost/step_collectives.h"

#include <gtest/gtest.h>

#include "import/cluster_build.h"

namespace shardplan {
namespace {

Cluster cluster_of(const char* device, std::int64_t gpus) {
  return usual_cluster(catalog(), **find_device(catalog(), device, ""), gpus, std::nullopt).value();
}

template <class N = double>
GroupCost<N> cost_of(const Cluster& cluster, Collective kind, Bytes<> size, const Group& group) {
  return step_collective<N>(kind, Bytes<N>(N(size.raw())), cluster_links<N>(cluster), cluster, group,
                            cluster.device.law.collective);
}

TEST(StepCollectives, TakesWhatTheLibraryPicksAfterALaunch) {
  const Cluster node = cluster_of("h100-sxm", 8);
  for (const Bytes<> size : {kibibytes(64), mebibytes(16), gibibytes(4)}) {
    const auto best =
        library_ways<double>(Collective::kAllReduce, size, cluster_links<double>(node), node, {1, 8}, {}, {})
            .best();
    const Seconds<> launched = best.cost.total() + node.device.law.collective.value;
    EXPECT_NEAR(cost_of(node, Collective::kAllReduce, size, {1, 8}).cost.total().raw(), launched.raw(),
                1e-12);
  }
}

TEST(StepCollectives, TheSwitchReducesForTensorRanksOfANode) {
  const Cluster node = cluster_of("h100-sxm", 8);
  const double ring = 2.0 * 7 / 8 * gibibytes(1).raw() / cluster_links<double>(node)[0].bandwidth.raw();
  EXPECT_LT(cost_of(node, Collective::kAllReduce, gibibytes(1), {1, 8}).cost.total().raw(), ring);
}

TEST(StepCollectives, ReplicasOneToANodeArePacedByTheNetwork) {
  const Cluster cluster = cluster_of("h100-sxm", 64);
  const GroupCost<> cost = cost_of(cluster, Collective::kReduceScatter, gibibytes(1), {8, 8});
  EXPECT_EQ(cost.tier, 1u);
  EXPECT_EQ(cost.paced_by, 1u);
  const double ring = 7.0 / 8 * gibibytes(1).raw() / cluster_links<double>(cluster)[1].bandwidth.raw();
  EXPECT_NEAR(cost.paced_bandwidth_term.raw() / ring, 1.0, 1e-9);
}

TEST(StepCollectives, WithoutALibraryARampGrowsWithTheSizesRoot) {
  const Cluster pod = cluster_of("tpu-v5p", 64);
  ASSERT_EQ(pod.collectives, nullptr);
  const auto latency = [&](Bytes<> size) {
    return cost_of(pod, Collective::kAllGather, size, {1, 64}).cost.latency_term.raw();
  };
  const double ramp = pod.device.law.ramp.value.raw();
  EXPECT_NEAR(latency(mebibytes(16)) - latency(mebibytes(4)), 2 * ramp, 1e-12);
}

TEST(StepCollectives, TheTraceIsTheNumber) {
  const Cluster cluster = cluster_of("h100-sxm", 64);
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    const auto number = cost_of(cluster, kind, mebibytes(64), {2, 16});
    const auto traced = cost_of<Traced>(cluster, kind, mebibytes(64), {2, 16});
    EXPECT_EQ(value_of(traced.cost.total()), number.cost.total().raw());
  }
}

}  // namespace
}  // namespace shardplan
