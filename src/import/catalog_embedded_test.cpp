// The catalog that is compiled in: it loads, and has the names and figures that the contract promises.
#include <gtest/gtest.h>

#include "import/question.h"

namespace shardplan {
namespace {

// ------------------------------------------------

TEST(ContractNames, AreAllKnown) {
  for (const char* model : {"gpt3-175b", "llama3-8b", "llama3-70b", "llama3-405b", "deepseek-v3",
                            "qwen3-235b-a22b", "gpt-oss-120b", "meta-llama/Llama-3.1-70B"}) {
    const auto entry = find_model(catalog(), model, "--model");
    ASSERT_TRUE(entry) << model;
    EXPECT_TRUE((*entry)->model()) << model;
  }
  for (const char* gpu : {"a100-40gb-sxm", "a100-80gb-sxm", "h100-sxm", "h100-pcie", "h200", "h800", "b200",
                          "b300", "gb200", "gb300", "mi300x", "mi355x", "tpu-v5p", "H100", "H100-SXM-80GB"}) {
    EXPECT_TRUE(find_device(catalog(), gpu, "--gpu")) << gpu;
  }
  for (const char* framework : {"generic", "megatron", "torchtitan", "deepspeed", "fsdp", "nanotron"}) {
    EXPECT_TRUE(find_framework(catalog(), framework, "--framework")) << framework;
  }
}

TEST(ContractNames, EveryGpuAndClusterMakesAQuestion) {
  for (const Device& device : catalog().devices) {
    QuestionSpec spec;
    spec.model = "llama3-8b";
    spec.gpu = device.name;
    spec.gpus = "16";
    const Result<Question> q = build_question(spec, catalog());
    EXPECT_TRUE(q) << device.name << ": " << q.error().message;
  }
  for (const ClusterPreset& preset : catalog().clusters) {
    QuestionSpec spec;
    spec.model = "llama3-8b";
    spec.cluster = preset.name;
    const Result<Question> q = build_question(spec, catalog());
    EXPECT_TRUE(q) << preset.name << ": " << q.error().message;
  }
}

TEST(ContractNames, TheCourseClusterIsAsTheContractSays) {
  QuestionSpec spec;
  spec.preset = "llama3-8b";
  const Result<Question> q = build_question(spec, catalog());
  ASSERT_TRUE(q) << q.error().message;
  const Cluster& c = q->cluster;
  EXPECT_EQ(c.device.memory_reported.value, gibibytes(192));
  EXPECT_EQ(c.device.memory_bandwidth.value, terabytes_per_s(5.3));
  EXPECT_EQ(c.device.memory_bandwidth.source.kind, SourceKind::kAssumed);
  EXPECT_EQ(c.device.peak[static_cast<std::size_t>(Precision::kBf16)]->value, teraflops_per_s(400));
  EXPECT_EQ(c.device.efficiency.gemm[static_cast<std::size_t>(Precision::kBf16)]->value, ratio(1));
  EXPECT_EQ(c.device.efficiency.kernel_launch.value, seconds(0));
  EXPECT_EQ(c.tiers[0].size, 8);
  EXPECT_EQ(c.tiers[0].bandwidth.value, gigabytes_per_s(300));
  EXPECT_DOUBLE_EQ(c.tiers[0].latency.value.raw(), 5e-6);
  EXPECT_EQ(c.tiers[1].bandwidth.value, gigabytes_per_s(50));
  EXPECT_DOUBLE_EQ(c.tiers[1].latency.value.raw(), 15e-6);
}

TEST(EmbeddedCatalog, EveryClusterHasWhatIsKnownOfInterruptions) {
  const Reliability& r = catalog().reliability;
  EXPECT_NEAR(r.mtbf_gpu.value.raw(), 54 * 86400.0 * 16384 / 419, 1);
  EXPECT_EQ(r.mtbf_gpu.source.kind, SourceKind::kPublished);
  EXPECT_EQ(r.storage_gpu.source.kind, SourceKind::kAssumed) << "nobody knows a person's storage";
  for (const ClusterPreset& preset : catalog().clusters) {
    QuestionSpec spec;
    spec.model = "llama3-8b";
    spec.cluster = preset.name;
    EXPECT_TRUE(build_question(spec, catalog())->cluster.reliability.known()) << preset.name;
  }
}

TEST(EmbeddedCatalog, EveryRiskFigureSaysWhereItIsFrom) {
  for (const RiskFigure& f : kRiskFigures) {
    const Sourced<Ratio<>>& figure = catalog().risk.*f.figure;
    EXPECT_GT(figure.value, ratio(0)) << f.id;
    EXPECT_EQ(figure.value < ratio(1), f.share) << f.id;
    EXPECT_FALSE(figure.source.id.empty()) << f.id;
    EXPECT_FALSE(figure.source.note.empty()) << f.id << ": its reason";
  }
  EXPECT_EQ(catalog().risk.bubble.source.kind, SourceKind::kAssumed);
}

TEST(EmbeddedCatalog, EvidenceIsOfBothKinds) {
  const Evidence& e = catalog().evidence;
  const auto h100 = find_device(catalog(), "h100-sxm", "gpu");
  ASSERT_TRUE(h100);
  for (const char* kind : {kTimeBand, kMemoryBand}) {
    const ErrorBand* band = find_band(e, kind, "megatron", **h100);
    ASSERT_NE(band, nullptr) << kind;
    EXPECT_LT(band->low_ratio, band->high_ratio);
  }
  ASSERT_FALSE(e.runs.empty());
  EXPECT_GT(e.runs.front().measured.raw(), 0);
}

}  // namespace
}  // namespace shardplan
