#include "import/comm_question.h"

#include <gtest/gtest.h>

#include "import/test_catalog.h"

namespace shardplan {
namespace {

Catalog small_catalog() {
  static const CatalogTexts texts = test_catalog_texts();
  std::vector<EmbeddedFile> files;
  for (const auto& [file, text] : texts) files.push_back({file.c_str(), text.c_str()});
  return load_catalog(files).value();
}

CommSpec one_link() {
  CommSpec spec;
  spec.gpus = "64";
  spec.bw = "50";
  spec.latency = "15";
  spec.bytes = "1MiB";
  return spec;
}

Error error_of(const CommSpec& spec) {
  const auto q = build_comm_question(spec, small_catalog());
  EXPECT_FALSE(q);
  return q ? Error{} : q.error();
}

TEST(CommQuestion, ReadsCustomaryUnits) {
  const auto q = build_comm_question(one_link(), small_catalog());
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(q->cluster.tiers.at(0).bandwidth.value, gigabytes_per_s(50));
  EXPECT_EQ(q->cluster.tiers.at(0).latency.value, microseconds(15));
  EXPECT_EQ(q->size.value, mebibytes(1));
  EXPECT_EQ(q->collective, Collective::kAllReduce);
  EXPECT_FALSE(q->step.has_value());
}

TEST(CommQuestion, ParametersAreTwoBytesEach) {
  CommSpec spec = one_link();
  spec.bytes.reset();
  spec.params = "7";
  const auto q = build_comm_question(spec, small_catalog());
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(q->parameters->value, ratio(7e9));
  EXPECT_EQ(q->bytes_per_parameter.value, bytes(2));
}

TEST(CommQuestion, BadNumbersPointAtTheirFlag) {
  for (const char* bad : {"-5", "0", "nan", "inf", "fast", "1e30", ""}) {
    CommSpec spec = one_link();
    spec.bw = bad;
    EXPECT_EQ(error_of(spec).where, "--bw") << bad;
  }
  for (const char* bad : {"0", "1e30", "-1", "2.5", "many"}) {
    CommSpec spec = one_link();
    spec.gpus = bad;
    EXPECT_EQ(error_of(spec).where, "--gpus") << bad;
  }
}

TEST(CommQuestion, WhatIsMissingIsSaid) {
  CommSpec spec = one_link();
  spec.bw.reset();
  EXPECT_EQ(error_of(spec).code, "missing_flag");
  spec = one_link();
  spec.bytes.reset();
  EXPECT_EQ(error_of(spec).where, "--bytes");
  spec = one_link();
  spec.gpus.reset();
  EXPECT_EQ(error_of(spec).where, "--gpus");
}

TEST(CommQuestion, TwoAnswersToOneQuestionAreRefused) {
  CommSpec spec = one_link();
  spec.params = "7";
  EXPECT_EQ(error_of(spec).code, "conflict");
  spec = one_link();
  spec.fabric = "ib-ndr-400";
  EXPECT_EQ(error_of(spec).code, "conflict");
  spec = one_link();
  spec.cluster = "pods";
  EXPECT_EQ(error_of(spec).code, "conflict");
}

TEST(CommQuestion, UnknownNamesComeWithTheNearest) {
  CommSpec spec = one_link();
  spec.collective = "all-redcue";
  EXPECT_EQ(error_of(spec).nearest, "all-reduce");
  spec = one_link();
  spec.bw.reset();
  spec.fabric = "ib-nrd-400";
  EXPECT_EQ(error_of(spec).nearest, "ib-ndr-400");
}

TEST(CommQuestion, TwoTiersByHand) {
  CommSpec spec;
  spec.gpus = "64";
  spec.gpus_per_node = "8";
  spec.bw_intra = "300";
  spec.bw_inter = "50";
  spec.bytes = "1GB";
  const auto q = build_comm_question(spec, small_catalog());
  ASSERT_TRUE(q) << q.error().message;
  ASSERT_EQ(q->cluster.tiers.size(), 2U);
  EXPECT_EQ(q->cluster.tiers[0].size, 8);
  EXPECT_EQ(q->cluster.tiers[1].size, 64);
  EXPECT_EQ(q->cluster.tiers[1].latency.value, seconds(0));  // not told, and said so
  spec.gpus = "8";
  const auto inside = build_comm_question(spec, small_catalog());
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->cluster.tiers.size(), 1U);
}

CommSpec on_rails(const char* ranks_per_node, const char* groups) {
  CommSpec spec;
  spec.gpu = "a100-80gb-sxm";
  spec.fabric = "opa-100x4";  // four cards for eight GPUs
  spec.gpus = "8";
  spec.bytes = "1GB";
  spec.ranks_per_node = ranks_per_node;
  if (groups != nullptr) spec.groups = groups;
  return spec;
}

TEST(CommQuestion, GroupsOfOneRankANodeShareItsCards) {
  const auto q = build_comm_question(on_rails("1", nullptr), catalog());
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(q->ranks.value, ratio(8));
  EXPECT_EQ(q->cluster.gpus, 64);
  EXPECT_EQ(q->stride, 8);
  ASSERT_TRUE(q->cards.has_value());
  EXPECT_EQ(q->cards->cards, 4);
  EXPECT_EQ(q->cards->groups, 8);  // as in a plan
  EXPECT_EQ(q->cards->sharers(), 2);
  const auto alone = build_comm_question(on_rails("1", "1"), catalog());
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->cards->sharers(), 1);
  EXPECT_EQ(build_comm_question(on_rails("1", "5"), catalog())->cards->sharers(), 2);
}

TEST(CommQuestion, GroupsAndSpreadsThatCannotBeAreRefused) {
  const auto error = [](const CommSpec& spec) {
    const auto q = build_comm_question(spec, catalog());
    EXPECT_FALSE(q);
    return q ? Error{} : q.error();
  };
  for (const char* bad : {"0", "9", "-1", "many", "1.5"})
    EXPECT_EQ(error(on_rails("1", bad)).where, "--groups");
  for (const char* bad : {"0", "3", "9", "x"})
    EXPECT_EQ(error(on_rails(bad, nullptr)).where, "--ranks-per-node") << bad;
  CommSpec link = one_link();
  link.groups = "2";
  EXPECT_EQ(error(link).where, "--groups");
  link = one_link();
  link.ranks_per_node = "2";
  EXPECT_EQ(error(link).where, "--ranks-per-node");
}

TEST(CommQuestion, AShapeIsOfATpuAndHasItsChips) {
  CommSpec spec;
  spec.gpu = "tpu-v5p";
  spec.gpus = "64";
  spec.bytes = "1GB";
  EXPECT_EQ(shape_text(*build_comm_question(spec, catalog())->cluster.torus), "4x4x4");
  spec.topology = "2x4x8";
  const auto told = build_comm_question(spec, catalog());
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(shape_text(*told->cluster.torus), "2x4x8");
  EXPECT_FALSE(told->cluster.torus->rings[2]);  // no whole cubes
  spec.gpus = "128";
  EXPECT_EQ(build_comm_question(spec, catalog())->cluster.tiers.size(), 2U);  // two slices
  for (const char* wrong : {"4x4", "4x4x8", "64", "4x4x4x1", "cube"}) {
    spec.gpus = "64";
    spec.gpus_per_node = "64";
    spec.topology = wrong;
    const auto q = build_comm_question(spec, catalog());
    ASSERT_FALSE(q) << wrong;
    EXPECT_EQ(q.error().where, "--topology") << wrong;
  }
  spec = {};
  spec.gpu = "h100-sxm";
  spec.gpus = "64";
  spec.bytes = "1GB";
  spec.topology = "4x4x4";
  EXPECT_EQ(build_comm_question(spec, catalog()).error().where, "--topology");
}

TEST(CommQuestion, ALatencyInsideNodesLengthensTheHopsOfTheLibrary) {
  const auto cluster_with = [](const char* latency) {
    CommSpec spec;
    spec.gpu = "h100-sxm";
    spec.gpus = "8";
    spec.bytes = "1KiB";
    if (latency != nullptr) spec.latency_intra = latency;
    return build_comm_question(spec, catalog())->cluster;
  };
  const Cluster usual = cluster_with(nullptr), slow = cluster_with("100us"), quick = cluster_with("0");
  const Seconds<> more = microseconds(100) - usual.tiers[0].latency.value;
  const auto expect_longer = [&](auto latency) {
    EXPECT_NEAR(latency(slow).raw(), (latency(usual) + more).raw(), 1e-12);
    EXPECT_LT(latency(quick), latency(usual));
    EXPECT_GE(latency(quick), seconds(0));
  };
  for (std::size_t p = 0; p < kProtocolCount; ++p) {
    expect_longer([&](const Cluster& c) { return c.collectives->library.scale_up.ring[p]; });
    expect_longer([&](const Cluster& c) { return c.collectives->library.scale_up.tree[p]; });
  }
  expect_longer([](const Cluster& c) { return c.collectives->library.scale_up.nvls; });
  expect_longer([](const Cluster& c) { return c.collectives->generation.peer_latency.value; });
  expect_longer([](const Cluster& c) { return c.collectives->generation.kernels->one_shot; });
  EXPECT_EQ(slow.collectives->library.network.ring[0], usual.collectives->library.network.ring[0]);
  EXPECT_EQ(slow.tiers[0].latency.value, microseconds(100));
}

TEST(CommQuestion, ClustersAndFabricsOfTheCatalog) {
  CommSpec spec;
  spec.cluster = "pods";
  spec.bytes = "1GB";
  const auto cluster = build_comm_question(spec, small_catalog());
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->ranks.value, ratio(1024));
  CommSpec fabric;
  fabric.fabric = "NDR";
  fabric.gpus = "16";
  fabric.bytes = "1GB";
  const auto network = build_comm_question(fabric, small_catalog());
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->cluster.tiers.at(0).bandwidth.value, gigabytes_per_s(40));
}

}  // namespace
}  // namespace shardplan
