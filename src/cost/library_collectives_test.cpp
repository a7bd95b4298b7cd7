// The choices of NCCL and RCCL on catalog clusters: published switch points, and what cannot be.
#include "cost/library_collectives.h"

#include <gtest/gtest.h>

#include "import/cluster_build.h"
#include "import/collective_tables.h"

namespace shardplan {
namespace {

Cluster cluster_of(const char* device, std::int64_t gpus) {
  return usual_cluster(catalog(), **find_device(catalog(), device, ""), gpus, std::nullopt).value();
}

LibraryWays<double> ways_of(const Cluster& cluster, Collective kind, Bytes<> size,
                            const LibraryScope& scope = {}) {
  return library_ways<double>(kind, size, cluster_links<double>(cluster), cluster, {1, cluster.gpus}, {},
                              scope);
}

const LibraryWay<double>& way_of(const LibraryWays<double>& ways, CommAlgorithm algorithm,
                                 Protocol protocol) {
  for (std::size_t i = 0; i < ways.count; ++i) {
    if (ways.ways[i].algorithm == algorithm && ways.ways[i].protocol == protocol) return ways.ways[i];
  }
  ADD_FAILURE() << name(algorithm) << " " << name(protocol) << " is no way";
  return ways.ways[0];
}

TEST(LibraryCollectives, EightH100SwitchWhereNcclReportsIt) {
  const Cluster node = cluster_of("h100-sxm", 8);
  // NCCL 2.27 on eight H200: ring, LL up to 1 MiB; reduction in the switch from 2 MiB. Within a factor of
  // two.
  const auto small = ways_of(node, Collective::kAllReduce, kibibytes(512));
  EXPECT_EQ(small.best().algorithm, CommAlgorithm::kRing);
  EXPECT_EQ(small.best().protocol, Protocol::kLL);
  EXPECT_EQ(ways_of(node, Collective::kAllReduce, mebibytes(4)).best().algorithm, CommAlgorithm::kNvls);
}

TEST(LibraryCollectives, FewGpusDoNotReduceInTheSwitch) {
  const auto algorithm = [](std::int64_t gpus) {
    return ways_of(cluster_of("h200", gpus), Collective::kAllReduce, gibibytes(8)).best().algorithm;
  };
  EXPECT_EQ(algorithm(4), CommAlgorithm::kRing);  // as measured: from five H200 on
  EXPECT_EQ(algorithm(5), CommAlgorithm::kNvls);
}

TEST(LibraryCollectives, OverTwoNodesTheTreeOfSwitchesCarriesLargeSizesAndRingsOverFour) {
  const auto algorithm = [](std::int64_t gpus) {
    return ways_of(cluster_of("h100-sxm", gpus), Collective::kAllReduce, gibibytes(16)).best().algorithm;
  };
  EXPECT_EQ(algorithm(16), CommAlgorithm::kNvlsTree);
  EXPECT_EQ(algorithm(32), CommAlgorithm::kRing);
}

TEST(LibraryCollectives, LatencyIsThatOfTheTables) {
  const auto ways = ways_of(cluster_of("h100-sxm", 16), Collective::kAllReduce, bytes(8));
  // 6.8 + 2 (7 x (0.6 + 0.05) + 6) us: base, chain of eight, one hop of 6 us.
  EXPECT_NEAR(way_of(ways, CommAlgorithm::kTree, Protocol::kLL).cost.latency_term.raw(), 27.9e-6, 1e-10);
}

TEST(LibraryCollectives, AMeshHasTheLinksOfThePairsThatTakePart) {
  const auto pair = ways_of(cluster_of("mi300x", 2), Collective::kAllReduce, gibibytes(4));
  // 47.7 GB/s of bus bandwidth were measured: one link of seven.
  const double bus = gibibytes(4).raw() / pair.best().cost.total().raw();
  EXPECT_NEAR(bus / 47.7e9, 1.0, 0.1);
}

TEST(LibraryCollectives, OneShotKernelsWinOnlySmallMessages) {
  const Cluster node = cluster_of("h100-sxm", 8);
  const LibraryScope both{true, true};
  EXPECT_EQ(ways_of(node, Collective::kAllReduce, kibibytes(8), both).best().algorithm,
            CommAlgorithm::kOneShot);
  EXPECT_NE(ways_of(node, Collective::kAllReduce, mebibytes(8), both).best().algorithm,
            CommAlgorithm::kOneShot);
}

TEST(LibraryCollectives, ManySingleRanksGatherSmallSizesOverAggregatedTrees) {
  const Cluster cluster = cluster_of("h100-sxm", 1024);
  const auto picked = [&](Bytes<> size, const Group& group) {
    return library_ways<double>(Collective::kAllGather, size, cluster_links<double>(cluster), cluster, group,
                                {}, {})
        .best()
        .algorithm;
  };
  const Group one_a_node{8, 128};
  EXPECT_EQ(picked(mebibytes(1), one_a_node), CommAlgorithm::kPat);
  EXPECT_EQ(picked(gibibytes(8), one_a_node), CommAlgorithm::kRing);  // trees carry three quarters of the bus
  EXPECT_EQ(picked(mebibytes(1), {1, 1024}), CommAlgorithm::kRing);
}

TEST(LibraryCollectives, BridgesOfPairsAreNoSwitch) {
  const auto ways = ways_of(cluster_of("h100-nvl", 8), Collective::kAllReduce, mebibytes(1), {true, true});
  for (std::size_t i = 0; i < ways.count; ++i) {
    const CommAlgorithm algorithm = ways.ways[i].algorithm;
    EXPECT_TRUE(algorithm == CommAlgorithm::kRing || algorithm == CommAlgorithm::kTree) << name(algorithm);
  }
}

TEST(LibraryCollectives, LinksByHandHaveNone) {
  EXPECT_EQ(cluster_of("course-192gb", 64).collectives, nullptr);
  EXPECT_EQ(cluster_of("tpu-v5p", 64).collectives, nullptr);
}

TEST(LibraryCollectives, CalibrationScalesWhatItNames) {
  const Cluster plain = cluster_of("h100-sxm", 16);
  Calibration half;
  half.bandwidth = ratio(0.5);
  const auto before = ways_of(plain, Collective::kAllReduce, gibibytes(8));
  const auto after = ways_of(calibrated(plain, half), Collective::kAllReduce, gibibytes(8));
  const auto& ring = way_of(before, CommAlgorithm::kRing, Protocol::kSimple).cost;
  const auto& slow = way_of(after, CommAlgorithm::kRing, Protocol::kSimple).cost;
  EXPECT_NEAR((slow.bandwidth_term / ring.bandwidth_term).raw(), 2.0, 1e-9);
  EXPECT_EQ(slow.latency_term, ring.latency_term);
}

double library_time(const char* device, std::int64_t gpus, Collective kind) {
  const Cluster cluster =
      usual_cluster(catalog(), **find_device(catalog(), device, ""), gpus, std::nullopt).value();
  return library_ways<double>(kind, gibibytes(1), cluster_links<double>(cluster), cluster, {1, gpus}, {}, {})
      .best()
      .cost.total()
      .raw();
}

TEST(LibraryWays, WhatSharesALinkIsNoFasterOverTwoNodes) {
  int shared = 0;
  for (const Device& device : catalog().devices) {
    const std::int64_t node = device.usual_gpus_per_node;
    const Cluster one = usual_cluster(catalog(), device, node, std::nullopt).value();
    if (!one.collectives) continue;
    const bool pcie = one.collectives->link == ScaleUpKind::kPcie;
    for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                  Collective::kAllToAll, Collective::kBroadcast}) {
      if (!pcie && kind != Collective::kBroadcast) continue;
      EXPECT_GE(library_time(device.name.c_str(), 2 * node, kind),
                library_time(device.name.c_str(), node, kind))
          << device.name << " " << name(kind);
      ++shared;
    }
  }
  EXPECT_GT(shared, 20);
}

TEST(LibraryWays, TheEmptiestNodeBoundsWhatLeavesIt) {
  const double card =
      cluster_links<double>(
          usual_cluster(catalog(), **find_device(catalog(), "h100-sxm", ""), 16, std::nullopt).value())[1]
          .bandwidth.raw();
  const double gibibyte = gibibytes(1).raw();
  EXPECT_GT(library_time("h100-sxm", 9, Collective::kAllGather), 8.0 / 9 * gibibyte / card);
  EXPECT_GT(library_time("h100-sxm", 9, Collective::kAllToAll), 8.0 / 9 * gibibyte / card);
  EXPECT_GT(library_time("h100-sxm", 9, Collective::kAllReduce), 8.0 / 9 * gibibyte / card);
  EXPECT_LT(library_time("h100-sxm", 16, Collective::kAllGather),
            library_time("h100-sxm", 9, Collective::kAllGather));
}

}  // namespace
}  // namespace shardplan
