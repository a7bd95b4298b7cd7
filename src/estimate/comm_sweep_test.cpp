#include "estimate/comm_sweep.h"

#include <gtest/gtest.h>

#include "import/cluster_build.h"

namespace shardplan {
namespace {

CommQuestion all_reduce(const char* device, std::int64_t gpus) {
  CommQuestion q;
  q.cluster = usual_cluster(catalog(), **find_device(catalog(), device, ""), gpus, std::nullopt).value();
  q.ranks = {ratio(static_cast<double>(gpus)), {}};
  return q;
}

TEST(CommSweep, DoublesFromTheLowEndAndEndsAtTheOther) {
  const CommSweep sweep = sweep_comm(all_reduce("h100-sxm", 8), {bytes(8), bytes(100)});
  ASSERT_EQ(sweep.points.size(), 5U);
  EXPECT_EQ(sweep.points[4].size, bytes(100));
  EXPECT_EQ(sweep_comm(all_reduce("h100-sxm", 8), {bytes(8), bytes(64)}).points.size(), 4U);
  EXPECT_EQ(sweep.points[3].size, bytes(64));
  EXPECT_DOUBLE_EQ((sweep.points[3].bus_bandwidth / sweep.points[3].algorithm_bandwidth).raw(), 1.75);
}

TEST(CommSweep, SwitchesLieWhereTheChoiceChanges) {
  const CommQuestion q = all_reduce("h100-sxm", 16);
  const CommSweep sweep = sweep_comm(q, {});
  ASSERT_GE(sweep.switches.size(), 3U);
  EXPECT_EQ(sweep.switches.front().from, bytes(8));
  for (std::size_t i = 1; i < sweep.switches.size(); ++i) {
    const auto picked = [&](double factor) {
      CommQuestion at = q;
      at.size.value = factor * sweep.switches[i].from;
      return comm_cost<double>(at).best().algorithm;
    };
    EXPECT_EQ(picked(1.0), sweep.switches[i].algorithm);
    EXPECT_LT(sweep.switches[i - 1].from, sweep.switches[i].from);
  }
}

TEST(CommSweep, LinksByHandHaveOneWayEach) {
  CommQuestion q = all_reduce("course-192gb", 8);
  const CommSweep sweep = sweep_comm(q, {});
  ASSERT_EQ(sweep.switches.size(), 1U);
  EXPECT_EQ(sweep.switches[0].algorithm, CommAlgorithm::kRing);
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_EQ(bus_factor(Collective::kAllReduce, 8), ratio(1.75));
  EXPECT_EQ(bus_factor(Collective::kAllGather, 8), ratio(0.875));
  EXPECT_EQ(bus_factor(Collective::kSendRecv, 2), ratio(1));
}

}  // namespace
}  // namespace shardplan
