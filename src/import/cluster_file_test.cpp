#include "import/cluster_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "import/test_catalog.h"

namespace shardplan {
namespace {

constexpr const char* kOwnDevice = R"({
  "name": "mine", "gpus": 96,
  "device": {"name": "card", "memory": "79.2GiB", "memory_bandwidth_bytes_per_s": 3.35e12,
             "peak": {"bf16": "989TFLOP/s", "fp8": "1979TFLOP/s"},
             "efficiency": {"gemm": {"bf16": 0.7}, "attention": 0.5, "memory": 0.8, "kernel_launch": "5us"}},
  "tiers": [
    {"name": "node", "size": 8, "bandwidth": "450GB/s", "latency": "3us"},
    {"name": "network", "size": 128, "bandwidth": "400Gbit/s", "latency_s": 15e-6, "oversubscription": 2}],
  "reserve": "4GiB"})";

Result<Cluster> read(const std::string& text) { return read_cluster_file(text, "c.json", test_catalog()); }

Error error_of(const std::string& text) {
  const Result<Cluster> read_cluster = read(text);
  if (read_cluster) return {};
  return read_cluster.error();
}

/// The example above with one piece replaced.
Error error_with(const std::string& from, const std::string& to) {
  std::string text = kOwnDevice;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return error_of(text);
}

TEST(ClusterFile, ReadsADeviceOfOnesOwn) {
  const Result<Cluster> c = read(kOwnDevice);
  ASSERT_TRUE(c) << c.error().where << ": " << c.error().message;
  EXPECT_EQ(c->name, "mine");
  EXPECT_EQ(c->gpus, 96);
  EXPECT_EQ(c->device.memory_reported.value, gibibytes(79.2));
  EXPECT_EQ(c->device.memory_reported.source.kind, SourceKind::kUser);
  EXPECT_EQ(c->device.memory_reported.source.id, "c.json");
  EXPECT_EQ(c->device.memory_reported.source.ref, "device.memory");
  EXPECT_EQ(c->device.memory_bandwidth.value, terabytes_per_s(3.35));
  const auto fp8 = static_cast<std::size_t>(Precision::kFp8);
  EXPECT_EQ(c->device.peak[fp8]->value, teraflops_per_s(1979));
  EXPECT_EQ(c->device.efficiency.gemm[fp8]->value, ratio(0.7)) << "as bf16, where none was told";
  EXPECT_EQ(c->device.efficiency.kernel_launch.value, microseconds(5));
  EXPECT_EQ(c->device.scale_up.achieved_bandwidth.value, gigabytes_per_s(450));
  ASSERT_EQ(c->tiers.size(), 2U);
  EXPECT_EQ(c->tiers[1].bandwidth.value, gbit_per_s(400));
  EXPECT_EQ(c->tiers[1].latency.value, seconds(15e-6));
  EXPECT_EQ(c->tiers[1].oversubscription.value, ratio(2));
  EXPECT_EQ(c->reserve(), gibibytes(4));
  EXPECT_TRUE(c->assumed.empty());
}

TEST(ClusterFile, TheExampleOfTheDocumentIsReadAndMixesCatalogAndOwnFigures) {
  std::ifstream file(std::string(SHARDPLAN_SOURCE_DIR) + "/examples/cluster-3-tier.json");
  std::stringstream text;
  text << file.rdbuf();
  const Result<Cluster> c = read(text.str());
  ASSERT_TRUE(c) << c.error().where << ": " << c.error().message;
  ASSERT_EQ(c->tiers.size(), 3U);
  EXPECT_EQ(c->device.name, "h100-sxm");
  EXPECT_EQ(c->tiers[0].bandwidth.value, c->device.scale_up.achieved_bandwidth.value);
  EXPECT_EQ(c->tiers[1].bandwidth.value, gigabytes_per_s(40));
  EXPECT_EQ(c->tiers[1].bandwidth.source.title, "Sheet x Fit");
  EXPECT_EQ(c->tiers[2].bandwidth.value, gigabytes_per_s(50));
  std::ifstream page(std::string(SHARDPLAN_SOURCE_DIR) + "/docs/reference/cluster-file.md");
  std::stringstream page_text;
  page_text << page.rdbuf();
  EXPECT_NE(page_text.str().find(text.str()), std::string::npos) << "the page shows the example as it is";
}

TEST(ClusterFile, HostMemoryOfANode) {
  EXPECT_FALSE(read(kOwnDevice)->host_memory);
  std::string text = kOwnDevice;
  text.insert(text.rfind('}'), R"(, "host_memory": "2TiB")");
  const Result<Cluster> c = read(text);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->host_memory->value, gibibytes(2048));
  EXPECT_EQ(c->host_memory->source.ref, "host_memory");
  EXPECT_EQ(error_with(R"("reserve": "4GiB")", R"("host_memory": "none")").code, "bad_unit");
}

TEST(ClusterFile, HowOftenARunIsInterrupted) {
  const Result<Cluster> usual = read_cluster_file(kOwnDevice, "c.json", catalog());
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(usual->reliability.mtbf_gpu.value, catalog().reliability.mtbf_gpu.value);
  EXPECT_FALSE(usual->reliability.storage);
  std::string text = kOwnDevice;
  text.insert(
      text.rfind('}'),
      R"(, "mtbf_gpu_hours": 20000, "restart_time": "15min", "checkpoint_bandwidth_bytes_per_s": 4e10)");
  const Result<Cluster> c = read(text);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->reliability.mtbf_gpu.value, seconds(20000 * 3600.0));
  EXPECT_EQ(c->reliability.mtbf_gpu.source.kind, SourceKind::kUser);
  EXPECT_EQ(c->reliability.restart.value, seconds(900));
  EXPECT_EQ(c->reliability.checkpoint_bandwidth(8).value, gigabytes_per_s(40));
  EXPECT_EQ(error_with(R"("reserve": "4GiB")", R"("mtbf_gpu_hours": 0)").code, "out_of_range");
  EXPECT_EQ(error_with(R"("reserve": "4GiB")", R"("restart_time": 600)").code, "wrong_type");
}

TEST(ClusterFile, DefaultsAreSaid) {
  const Result<Cluster> c = read(R"({"device": {"memory_bytes": 64e9, "memory_bandwidth": "2TB/s",
    "peak_flops": {"bf16": 300e12}},
    "tiers": [{"name": "all", "size": 4, "bandwidth": "100GB/s", "latency": "2us"}]})");
  ASSERT_TRUE(c) << c.error().where << ": " << c.error().message;
  EXPECT_EQ(c->gpus, 4);
  EXPECT_EQ(c->name, "c.json");
  ASSERT_EQ(c->assumed.size(), 2U);
  EXPECT_NE(c->assumed[0].find("achieved"), std::string::npos);
  EXPECT_NE(c->assumed[1].find("reserve"), std::string::npos);
  EXPECT_EQ(c->reserve_share.value, ratio(0.04));
}

TEST(ClusterFile, LikeTakesTheRestFromTheCatalog) {
  const Result<Cluster> c = read(R"({"device": {"like": "H100", "memory": "94GiB"},
    "tiers": [{"name": "node", "size": 8, "fabric": "scale_up", "latency": "9us"},
              {"name": "network", "size": 16, "fabric": "NDR"},
              {"name": "far", "size": 99, "fabric": "NDR"}], "gpus": 16})");
  ASSERT_TRUE(c) << c.error().where << ": " << c.error().message;
  EXPECT_EQ(c->device.memory_reported.value, gibibytes(94));
  EXPECT_EQ(c->device.memory_bandwidth.value, terabytes_per_s(3));
  EXPECT_EQ(c->tiers[0].latency.value, microseconds(9));
  EXPECT_EQ(c->tiers.size(), 2U) << "16 GPUs never need the third";
}

TEST(ClusterFile, GpusOnTheCommandLineReplaceTheFiles) {
  const Result<Cluster> fewer = read_cluster_file(kOwnDevice, "c.json", test_catalog(), 8);
  ASSERT_TRUE(fewer);
  EXPECT_EQ(fewer->gpus, 8);
  EXPECT_EQ(fewer->tiers.size(), 1U);
  const Result<Cluster> more = read_cluster_file(kOwnDevice, "c.json", test_catalog(), 129);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, "out_of_range");
}

TEST(ClusterFile, ErrorsSayWhereAndWhatIsNearest) {
  Error e = error_with("\"bandwidth\": \"400Gbit/s\"", "\"bandwith\": \"400Gbit/s\"");
  EXPECT_EQ(e.code, "unknown_field");
  EXPECT_EQ(e.where, "c.json: tiers[1].bandwith");
  EXPECT_EQ(e.nearest, "bandwidth");
  e = error_with("\"400Gbit/s\"", "400");
  EXPECT_EQ(e.code, "wrong_type");
  EXPECT_NE(e.expected.find("400Gbit/s"), std::string::npos);
  e = error_with("\"400Gbit/s\"", "\"400\"");
  EXPECT_EQ(e.code, "bad_unit");
  e = error_with("\"400Gbit/s\"", "\"400Gbyte\"");
  EXPECT_EQ(e.code, "bad_unit");
  EXPECT_EQ(e.where, "c.json: tiers[1].bandwidth");
  e = error_with("\"79.2GiB\"", "\"-79.2GiB\"");
  EXPECT_EQ(e.code, "out_of_range");
  e = error_with("3.35e12", "3350");
  EXPECT_EQ(e.where, "c.json: device.memory_bandwidth_bytes_per_s");
  EXPECT_EQ(e.code, "out_of_range");
  e = error_with("3.35e12", "NaN");
  EXPECT_EQ(e.code, "out_of_range");
  e = error_with("\"fp8\"", "\"fp7\"");
  EXPECT_EQ(e.where, "c.json: device.peak.fp7");
  EXPECT_EQ(e.nearest, "fp8");
  e = error_with("\"gemm\": {\"bf16\": 0.7}", "\"gemm\": {\"bf16\": 70}");
  EXPECT_EQ(e.where, "c.json: device.efficiency.gemm.bf16");
}

TEST(ClusterFile, StructureIsChecked) {
  EXPECT_EQ(error_with("\"size\": 128", "\"size\": 8").where, "c.json: tiers[1].size");
  EXPECT_EQ(error_with("\"size\": 128", "\"size\": 64").where, "c.json: gpus");
  EXPECT_EQ(error_with("\"size\": 128", "\"size\": 128.5").code, "wrong_type");
  EXPECT_EQ(error_with("\"size\": 128", "\"size\": 0").code, "out_of_range");
  EXPECT_EQ(error_with("\"gpus\": 96", "\"gpus\": -1").code, "out_of_range");
  EXPECT_EQ(error_with("\"oversubscription\": 2", "\"oversubscription\": 0.5").code, "out_of_range");
  EXPECT_EQ(error_with("\"latency\": \"3us\"", "\"latency\": \"3us\", \"latency_s\": 1e-6").code, "conflict");
  EXPECT_EQ(error_with(", \"latency\": \"3us\"", "").code, "missing_field");
  EXPECT_EQ(error_with("\"latency\": \"3us\"", "\"latency\": \"3us\", \"fabric\": \"scale_up\"").code,
            "missing_field");
  EXPECT_EQ(error_with("\"memory\": \"79.2GiB\",", "").where, "c.json: device");
  EXPECT_EQ(error_with("\"name\": \"card\"", "\"like\": \"h100-sxn\"").nearest, "h100-sxm");
  EXPECT_EQ(error_of(R"({"device": "h100"})").code, "missing_field");
  EXPECT_EQ(error_of(R"({"device": "h100", "tiers": []})").code, "out_of_range");
  EXPECT_EQ(error_of(R"({"device": "h100", "tiers": {}})").where, "c.json: tiers");
  EXPECT_EQ(error_of(R"({"tiers": [{"name": "n", "size": 1, "fabric": "NDR"}]})").code, "missing_field");
  EXPECT_EQ(error_of(R"({"device": "h100", "tiers": [{"name": "n", "size": 1, "fabric": "NRD"}]})").nearest,
            "ndr");
  EXPECT_EQ(error_of("[]").where, "c.json");
  EXPECT_NE(error_of("{").code, "");
  EXPECT_NE(error_of("").code, "");
}

/// Whatever is read, or not, holds together. The generator is fixed: the same texts on every machine.
TEST(ClusterFile, ChangedTextIsReadSoundlyOrRefusedWithAPlace) {
  constexpr std::string_view kBytes = "{}[]\",:0189.-eE+ \n\\uGiBs/nultrue\x80";
  const std::string original = kOwnDevice;
  std::uint64_t state = 88172645463325252ULL;
  const auto next = [&state](std::size_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % below);
  };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = original;
    for (std::size_t changes = 1 + next(4); changes > 0; --changes) {
      const std::size_t at = next(text.size());
      const std::size_t kind = next(4);
      if (kind == 0) text[at] = kBytes[next(kBytes.size())];
      if (kind == 1) text.insert(at, 1, kBytes[next(kBytes.size())]);
      if (kind == 2) text.erase(at, 1 + next(8));
      if (kind == 3) text.insert(at, text.substr(next(text.size()), next(30)));
      if (text.empty()) text = " ";
    }
    const Result<Cluster> c = read(text);
    if (!c) {
      ASSERT_FALSE(c.error().message.empty()) << text;
      ASSERT_EQ(c.error().where.rfind("c.json", 0), 0U) << text;
      continue;
    }
    ++accepted;
    ASSERT_GE(c->gpus, 1) << text;
    ASSERT_GE(c->tiers.back().size, c->gpus) << text;
    ASSERT_TRUE(std::isfinite(c->usable().raw())) << text;
    for (const Tier& tier : c->tiers) {
      ASSERT_GT(tier.bandwidth.value.raw(), 0) << text;
      ASSERT_GE(tier.latency.value.raw(), 0) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace shardplan
