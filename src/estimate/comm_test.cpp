#include "estimate/comm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace shardplan {
namespace {

Tier tier(const char* tier_name, std::int64_t size, double gigabytes_per_second, double latency_us) {
  return {tier_name,
          size,
          {gigabytes_per_s(gigabytes_per_second), {}},
          {microseconds(latency_us), {}},
          {ratio(1), {}}};
}

CommQuestion question(std::int64_t ranks, double billions, std::vector<Tier> tiers) {
  CommQuestion q;
  q.ranks.value = ratio(static_cast<double>(ranks));
  q.parameters = Sourced<Ratio<>>{ratio(billions * 1e9), {}};
  q.bytes_per_parameter.value = bytes(2);
  q.step = Sourced<Seconds<>>{milliseconds(700), {}};
  q.cluster.gpus = ranks;
  q.cluster.tiers = std::move(tiers);
  return q;
}

TEST(Comm, SixtyFourRanksAreExposed) {
  const CommAnswer a = answer_comm(question(64, 7, {tier("link", 64, 50, 15)}));
  EXPECT_NEAR(a.cost.best().cost.bandwidth_term.raw(), 0.55125, 1e-9);
  EXPECT_NEAR(a.cost.best().cost.latency_term.raw(), 0.00189, 1e-12);
  EXPECT_NEAR(a.cost.window->raw(), 0.4666667, 1e-6);
  EXPECT_NEAR(a.cost.best().required->raw(), 59.30e9, 0.01e9);
  EXPECT_EQ(a.exposed, true);
}

TEST(Comm, EightRanksAreHidden) {
  const CommAnswer a = answer_comm(question(8, 7, {tier("link", 8, 300, 5)}));
  EXPECT_NEAR(a.cost.best().cost.bandwidth_term.raw(), 0.0816667, 1e-6);
  EXPECT_NEAR(a.cost.best().cost.latency_term.raw(), 70e-6, 1e-12);
  EXPECT_EQ(a.exposed, false);
}

TEST(Comm, TwoTiersHideWhatAFlatRingDoesNot) {
  const CommAnswer a =
      answer_comm(question(64, 8.030261248, {tier("node", 8, 300, 5), tier("network", 64, 50, 15)}));
  ASSERT_EQ(a.cost.ways.size(), 2U);
  const CommWay<>&flat = a.cost.ways[0], &tiered = a.cost.ways[1];
  EXPECT_GT(*flat.exposed, seconds(0));
  EXPECT_NEAR(flat.required_without_latency->raw(), 67.76e9, 0.01e9);
  EXPECT_NEAR(flat.required->raw(), 68.03e9, 0.01e9);
  EXPECT_NEAR(tiered.parts[0].cost.bandwidth_term.raw(), 0.0937, 5e-5);
  EXPECT_NEAR(tiered.parts[1].cost.bandwidth_term.raw(), 0.0703, 5e-5);
  EXPECT_EQ(a.cost.best_way, 1U);
  EXPECT_EQ(a.exposed, false);
}

TEST(Comm, AFlatRingWaitsForItsSlowestLink) {
  // Inside the node 10 GB/s and 1 us, between nodes 1,000 GB/s and 6 us.
  const CommAnswer a = answer_comm(question(64, 70, {tier("node", 8, 10, 1), tier("network", 64, 1000, 6)}));
  const CommWay<>& flat = a.cost.ways[0];
  EXPECT_NEAR(flat.cost.bandwidth_term.raw(), 2.0 * 63 / 64 * 140e9 / 10e9, 1e-6);
  EXPECT_NEAR(flat.cost.latency_term.raw(), 126 * 6e-6, 1e-12);
  EXPECT_EQ(flat.parts[0].tier, "node");
  EXPECT_EQ(a.exposed, true);
}

TEST(Comm, WhereUnitsAreNotFullTheEmptiestCarriesTheMost) {
  // 12 ranks: 8 in one node, 4 in the other, and each of the 4 sends a quarter.
  const std::vector<Tier> tiers{tier("node", 8, 300, 5), tier("network", 12, 50, 15)};
  const CommAnswer a = answer_comm(question(12, 7, tiers));
  const CommWay<>& tiered = a.cost.ways[1];
  EXPECT_EQ(tiered.parts[1].size, gigabytes(14) / ratio(4));
  EXPECT_EQ(tiered.parts[1].ranks, 2);
}

TEST(Comm, AgreesWithTheCollectivesOfAStep) {
  const std::vector<Tier> tiers{tier("node", 8, 300, 5), tier("network", 64, 50, 15)};
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    CommQuestion q = question(64, 7, tiers);
    q.collective = kind;
    const auto links = cluster_links<double>(q.cluster);
    const auto step = group_collective<double>(kind, gigabytes(14), links, q.cluster, {1, 64});
    EXPECT_EQ(answer_comm(q).cost.best().time().raw(), step.cost.total().raw());
  }
}

/// One rank in each of eight nodes of eight GPUs and four cards of 50 GB/s, so 25 GB/s for each GPU.
CommQuestion on_cards(std::int64_t groups) {
  CommQuestion q = question(64, 7, {tier("node", 8, 300, 5), tier("network", 64, 25, 15)});
  q.ranks.value = ratio(8);
  q.stride = 8;
  q.cards = CardSharing{8, 4, groups, 1, 1, {}};
  return q;
}

TEST(Comm, EightGroupsOnFourCardsGetHalfOfOneEach) {
  const CommAnswer eight = answer_comm(on_cards(8)), four = answer_comm(on_cards(4));
  EXPECT_EQ(*eight.cost.card_share, gigabytes_per_s(25));
  EXPECT_EQ(*four.cost.card_share, gigabytes_per_s(50));
  EXPECT_NEAR((eight.cost.best().cost.bandwidth_term / four.cost.best().cost.bandwidth_term).raw(), 2, 1e-12);
}

TEST(Comm, OneGroupAloneIsNotSlowed) {
  const CommAnswer alone = answer_comm(on_cards(1));
  EXPECT_EQ(*alone.cost.card_share, gigabytes_per_s(50));
  EXPECT_EQ(alone.cost.best().time(), answer_comm(on_cards(4)).cost.best().time());
}

TEST(Comm, APlansGroupsHaveTheShareOfEveryGpuSending) {
  const CommQuestion q = on_cards(8);
  const auto step = group_collective<double>(Collective::kAllReduce, gigabytes(14),
                                             cluster_links<double>(q.cluster), q.cluster, {8, 8});
  EXPECT_NEAR(answer_comm(q).cost.best().time().raw(), step.cost.total().raw(), 1e-12);
}

TEST(Comm, TracedEqualsDoubleBitForBit) {
  for (int kind = 0; kind < kCollectiveCount; ++kind) {
    CommQuestion q = question(48, 3.7, {tier("node", 8, 300, 5), tier("network", 48, 47, 11)});
    q.collective = static_cast<Collective>(kind);
    const auto numbers = comm_cost<double>(q);
    const auto traced = comm_cost<Traced>(q);
    ASSERT_EQ(numbers.ways.size(), traced.ways.size());
    EXPECT_EQ(numbers.best_way, traced.best_way);
    for (std::size_t i = 0; i < numbers.ways.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(numbers.ways[i].time().raw()),
                std::bit_cast<std::uint64_t>(value_of(traced.ways[i].time())));
      EXPECT_EQ(value_of(*numbers.ways[i].exposed), value_of(*traced.ways[i].exposed));
    }
  }
}

TEST(Comm, OneRankSendsNothing) {
  const CommAnswer a = answer_comm(question(1, 7, {tier("link", 1, 50, 15)}));
  EXPECT_EQ(a.cost.best().time(), seconds(0));
  EXPECT_EQ(a.exposed, false);
}

TEST(Comm, AtTheRequiredBandwidthItJustHides) {
  CommQuestion q = question(64, 7, {tier("link", 64, 50, 15)});
  const CommAnswer before = answer_comm(q);
  q.cluster.tiers[0].bandwidth.value = *before.cost.best().required;
  const CommAnswer after = answer_comm(q);
  EXPECT_NEAR(after.cost.best().time().raw(), after.cost.window->raw(), 1e-9);
}

TEST(Comm, LatencyBeyondTheWindowHasNoRequiredBandwidth) {
  const CommAnswer a = answer_comm(question(1 << 20, 7, {tier("link", 1 << 20, 50, 15)}));
  EXPECT_FALSE(a.cost.best().required.has_value());
  EXPECT_EQ(a.exposed, true);
}

}  // namespace
}  // namespace shardplan
