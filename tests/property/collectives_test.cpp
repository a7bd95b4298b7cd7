// Properties of collectives on every device of the catalog: nothing is faster than the wires, more bandwidth
// and fewer bytes are never worse, and both readings of the arithmetic agree.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "estimate/comm.h"
#include "import/cluster_build.h"

namespace shardplan {
namespace {

constexpr Collective kKinds[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                 Collective::kAllToAll, Collective::kBroadcast};

CommQuestion question_of(const Cluster& cluster, Collective kind, double size) {
  CommQuestion q;
  q.cluster = cluster;
  q.collective = kind;
  q.ranks = {ratio(static_cast<double>(cluster.gpus)), {}};
  q.size = {bytes(size), {}};
  q.scope.kernels = true;
  return q;
}

/// Calls visit(device, cluster) for the devices whose collectives are known, on one node and on several.
template <class Visit>
void for_each_cluster(Visit visit) {
  for (const Device& device : catalog().devices) {
    for (const std::int64_t gpus : {2, 8, 16, 64, 1024}) {
      const auto cluster = usual_cluster(catalog(), device, gpus, std::nullopt);
      if (cluster && (cluster->collectives || cluster->torus)) visit(device, *cluster);
    }
  }
}

/// Bytes that some rank must receive over its own links, whatever the algorithm: a switch that reduces sends
/// the sum once, so an all-reduce brings S; the others bring what the rank does not hold.
double received(Collective kind, double size, double n) {
  if (kind == Collective::kAllReduce || kind == Collective::kBroadcast) return size;
  return size * (n - 1) / n;
}

TEST(Collectives, NothingIsFasterThanTheWires) {
  int checked = 0;
  for_each_cluster([&](const Device& device, const Cluster& cluster) {
    const double wire =
        std::max(device.scale_up.bandwidth.value.raw(), cluster.tiers.back().bandwidth.value.raw());
    for (const Collective kind : kKinds) {
      for (double size = 8; size < 4e10; size *= 4) {
        // Kernels and all ways, not the picked one alone.
        for (const CommWay<>& way : comm_cost<double>(question_of(cluster, kind, size)).ways) {
          const double least = received(kind, size, static_cast<double>(cluster.gpus)) / wire;
          EXPECT_GE(way.time().raw(), least) << device.name << " x " << cluster.gpus << ", " << name(kind)
                                             << ", " << size << " bytes, " << name(way.algorithm);
          ++checked;
        }
      }
    }
  });
  EXPECT_GT(checked, 10000);
}

TEST(Collectives, WhatEntersANodeFitsThroughItsNetworkCards) {
  for_each_cluster([&](const Device& device, const Cluster& cluster) {
    if (cluster.tiers.size() != 2) return;
    const double inside = static_cast<double>(cluster.tiers[0].size), n = static_cast<double>(cluster.gpus);
    const double cards = inside * cluster.tiers[1].bandwidth.value.raw();
    for (double size = 1024; size < 4e10; size *= 4) {
      // The sum of the other nodes must come in once; of an all-gather, what the others hold.
      const auto reduce = comm_cost<double>(question_of(cluster, Collective::kAllReduce, size));
      for (const CommWay<>& way : reduce.ways) EXPECT_GE(way.time().raw(), size / cards) << device.name;
      const auto gather = comm_cost<double>(question_of(cluster, Collective::kAllGather, size));
      for (const CommWay<>& way : gather.ways) {
        EXPECT_GE(way.time().raw(), size * (n - inside) / n / cards) << device.name;
      }
    }
  });
}

TEST(Collectives, MoreBandwidthIsNeverWorse) {
  for_each_cluster([&](const Device& device, const Cluster& cluster) {
    Cluster faster = cluster;
    for (Tier& tier : faster.tiers) tier.bandwidth.value = 1.5 * tier.bandwidth.value;
    for (const Collective kind : kKinds) {
      for (double size = 8; size < 4e10; size *= 64) {
        const auto slow = comm_cost<double>(question_of(cluster, kind, size));
        const auto fast = comm_cost<double>(question_of(faster, kind, size));
        for (const CommWay<>& way : slow.ways) {
          for (const CommWay<>& other : fast.ways) {
            if (other.algorithm != way.algorithm || other.protocol != way.protocol) continue;
            EXPECT_LE(other.time().raw(), way.time().raw() * (1 + 1e-12)) << device.name << " " << name(kind);
          }
        }
      }
    }
  });
}

TEST(Collectives, TracedEqualsDoubleBitForBit) {
  for_each_cluster([&](const Device& device, const Cluster& cluster) {
    for (const Collective kind : kKinds) {
      const CommQuestion q = question_of(cluster, kind, 3e6);
      const auto plain = comm_cost<double>(q);
      const auto traced = comm_cost<Traced>(q);
      ASSERT_EQ(plain.ways.size(), traced.ways.size());
      for (std::size_t i = 0; i < plain.ways.size(); ++i) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(plain.ways[i].time().raw()),
                  std::bit_cast<std::uint64_t>(value_of(traced.ways[i].time())))
            << device.name;
      }
    }
  });
}

}  // namespace
}  // namespace shardplan
