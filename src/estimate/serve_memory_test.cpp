#include "estimate/serve_memory.h"

#include <gtest/gtest.h>

#include "catalog/parameters.h"
#include "import/catalog.h"

namespace shardplan {
namespace {

Model model_of(const char* name) { return (*find_model(catalog(), name, ""))->model().value(); }

double gib(Bytes<> size) { return size.raw() / gibibytes(1).raw(); }

constexpr ServeFormat kHalf{};

TEST(ServeMemory, WeightsAreTheCheckpointsParameters) {
  for (const char* name : {"llama3-8b", "qwen2.5-0.5b", "deepseek-v3", "gpt-oss-120b"}) {
    const Model model = model_of(name);
    EXPECT_NEAR(serve_memory(model, {}, kHalf).weights.raw(),
                2.0 * static_cast<double>(count_parameters(model).total), 1e-3)
        << name;
  }
  // vLLM printed 14.9888 GiB on an RTX 3090.
  EXPECT_NEAR(gib(serve_memory(model_of("llama3-8b"), {}, kHalf).weights), 14.957, 0.001);
}

TEST(ServeMemory, LinearLayersAreQuantizedAndTheHeadIsNot) {
  // 70B w8a8 under vLLM: 67.72 GiB.
  const ServeFormat int8{Precision::kInt8, 8, 8, 8, 16, 16};
  EXPECT_NEAR(gib(serve_memory(model_of("llama3-70b"), {}, int8).weights), 67.72, 0.1);
}

TEST(ServeMemory, StagesShareTheWeights) {
  const Model model = model_of("llama3-70b");
  const double whole = serve_memory(model, {8, 1, 1}, kHalf).weights.raw();
  EXPECT_NEAR(serve_memory(model, {8, 4, 1}, kHalf).weights.raw(), whole / 4, 1);
}

TEST(ServeMemory, HeadsAreCutAndLatentsAreNot) {
  EXPECT_EQ(serve_memory(model_of("llama3-70b"), {1, 1, 1}, kHalf).token.raw(), 327680);
  EXPECT_EQ(serve_memory(model_of("llama3-70b"), {8, 1, 1}, kHalf).token.raw(), 40960);
  EXPECT_EQ(serve_memory(model_of("llama3-70b"), {16, 1, 1}, kHalf).token.raw(), 40960);
  EXPECT_EQ(serve_memory(model_of("deepseek-v3"), {8, 1, 1}, kHalf).token.raw(), 70272);
  const ServeMemory oss = serve_memory(model_of("gpt-oss-120b"), {}, kHalf);
  EXPECT_EQ((oss.token + oss.windowed).raw(), 73728);
  EXPECT_EQ(oss.windowed.raw(), oss.token.raw());
}

TEST(PoolTokens, AreWholeBlocks) {
  const ServeMemory m = serve_memory(model_of("llama3-8b"), {}, kHalf);
  const auto tokens = [&](const char* engine, double pool) {
    return pool_tokens(**find_serving_memory(catalog(), engine, ""), gibibytes(pool), m).raw();
  };
  EXPECT_EQ(tokens("vllm", 3.81), 31200);
  EXPECT_EQ(tokens("vLLM TPU", 0.71), 5632);
  EXPECT_EQ(tokens("sglang", 3.81), 31211);
  EXPECT_EQ(tokens("vllm", -1.05), 0);
  EXPECT_EQ(tokens("vllm", 0.001), 0);
}

}  // namespace
}  // namespace shardplan
