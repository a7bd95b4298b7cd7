#include "estimate/serve_memory.h"

#include <gtest/gtest.h>

#include "catalog/parameters.h"
#include "import/catalog.h"
#include "import/cluster_build.h"

namespace shardplan {
namespace {

Model model_of(const char* name) { return (*find_model(catalog(), name, ""))->model().value(); }

double gib(Bytes<> size) { return size.raw() / gibibytes(1).raw(); }

const ServeFormat kHalf{};

Bytes<> weights_of(const Model& model, const ServeSplit& split, const ServeFormat& format) {
  return serve_memory<double>(ServeShape(model, split, format), 1).total_weights();
}
double token_of(const char* model, const ServeSplit& split) {
  return serve_memory<double>(ServeShape(model_of(model), split, kHalf), 1).token.raw();
}

TEST(ServeMemory, WeightsAreTheCheckpointsParameters) {
  for (const char* name : {"llama3-8b", "qwen2.5-0.5b", "deepseek-v3", "gpt-oss-120b"}) {
    const Model model = model_of(name);
    EXPECT_NEAR(weights_of(model, {}, kHalf).raw(), 2.0 * static_cast<double>(count_parameters(model).total),
                1e-3)
        << name;
  }
  // vLLM printed 14.9888 GiB on an RTX 3090.
  EXPECT_NEAR(gib(weights_of(model_of("llama3-8b"), {}, kHalf)), 14.957, 0.001);
}

TEST(ServeMemory, LinearLayersAreQuantizedAndTheHeadIsNot) {
  // 70B w8a8 under vLLM: 67.72 GiB.
  const ServeFormat int8{Precision::kInt8, 8, 8, 8, 16, 16};
  EXPECT_NEAR(gib(weights_of(model_of("llama3-70b"), {}, int8)), 67.72, 0.1);
}

TEST(ServeMemory, OfStagesTheFullestCounts) {
  const Model model = model_of("llama3-70b");
  const double whole = weights_of(model, {8, 1, 1}, kHalf).raw();
  const double table = 2.0 * static_cast<double>(model.vocab * model.hidden) / 8;
  // 80 layers over 4 stages, and the head on one of them.
  EXPECT_NEAR(weights_of(model, {8, 4, 1}, kHalf).raw(), (whole - 2 * table) / 4 + table, 1e5);
  // 27 of 80 layers.
  EXPECT_NEAR(weights_of(model, {8, 3, 1}, kHalf).raw(), (whole - 2 * table) * 27 / 80 + table, 1e5);
}

TEST(ServeMemory, HeadsAreCutAndLatentsAreNot) {
  EXPECT_EQ(token_of("llama3-70b", {1, 1, 1}), 327680);
  EXPECT_EQ(token_of("llama3-70b", {8, 1, 1}), 40960);
  EXPECT_EQ(token_of("llama3-70b", {16, 1, 1}), 40960);
  EXPECT_EQ(token_of("deepseek-v3", {8, 1, 1}), 70272);
  EXPECT_EQ(token_of("gpt-oss-120b", {}), 73728);
}

TEST(ServeMemory, AWindowKeepsNoMoreThanItself) {
  // gpt-oss: every other layer has a window of 128 tokens.
  const ServeShape shape(model_of("gpt-oss-120b"), {}, kHalf);
  EXPECT_NEAR(serve_memory<double>(shape, 10000).request.raw(), 36864.0 * (10000 + 128), 1);
  EXPECT_NEAR(serve_memory<double>(shape, 100).request.raw(), 73728.0 * 100, 1);
}

TEST(ServeMemory, AnIndexerKeepsItsKeysBesideTheLatents) {
  // TensorRT-LLM, DeepSeek-V3.2 in fp8: 43,188 bytes a token.
  Model model = model_of("deepseek-v3");
  for (Layer& layer : model.layers) {
    auto& latent = std::get<LatentAttention>(layer.mixer);
    latent.index_heads = 64;
    latent.index_dim = 128;
    latent.index_top_k = 2048;
  }
  ServeFormat eight;
  eight.cache_bits = 8;
  EXPECT_EQ(serve_memory<double>(ServeShape(model, {4, 1, 1}, eight), 1).token.raw(), 43188);
}

TEST(ServeMemory, RecurrentStatesAreOfARequest) {
  const ServeShape shape(model_of("qwen3-next-80b-a3b"), {}, kHalf);
  const auto at = [&](double tokens) { return serve_memory<double>(shape, tokens).request.raw(); };
  EXPECT_GT(at(1) - (at(2) - at(1)), 36 * 32 * 128 * 128 * 4.0 - 1);
}

const Cluster& h100() {
  static const Cluster cluster =
      usual_cluster(catalog(), **find_device(catalog(), "h100-sxm", ""), 8, std::nullopt).value();
  return cluster;
}

ServeRoom<> room_of(const char* engine, const char* model, const ServeSplit& split, double tokens) {
  const ServingMemory& memory = **find_serving_memory(catalog(), engine, "");
  const Model m = model_of(model);
  const ServeShape shape(m, split, stored_format(m, h100().device));
  return serve_room<double>(h100(), memory, default_limits(memory, h100().device), shape,
                            serve_memory<double>(shape, tokens));
}

TEST(ServeRoom, TheEnginesWarmUpIsWhatWasMeasured) {
  // vLLM on H100 of 79.18 GiB at 1,024 requests: 4.76, 4.84 and 7.38 GiB.
  EXPECT_NEAR(gib(room_of("vllm", "llama3-8b", {}, 1).peak), 4.76, 0.1);
  EXPECT_NEAR(gib(room_of("vllm", "llama3-70b", {2, 1, 1}, 1).peak), 4.84, 0.1);
  EXPECT_NEAR(gib(room_of("vllm", "gpt-oss-20b", {}, 1).peak), 7.38, 0.25);
}

TEST(ServeRoom, EachEngineHasItsOwnShare) {
  const double weights = gib(weights_of(model_of("llama3-8b"), {}, kHalf)), hbm = 79.18;
  EXPECT_NEAR(gib(room_of("sglang", "llama3-8b", {}, 1).pool), (hbm - 0.15) * 0.88 - weights, 0.1);
  const ServeRoom<> after = room_of("trtllm", "llama3-8b", {}, 1);
  EXPECT_NEAR(gib(after.pool), (hbm - 0.15 - weights - gib(after.peak)) * 0.9, 0.1);
  const ServeRoom<> vllm = room_of("vllm", "llama3-8b", {}, 1);
  EXPECT_NEAR(gib(vllm.pool), hbm * 0.9 - weights - gib(vllm.peak) - 0.15, 0.1);
}

TEST(PoolTokens, AreWholeBlocks) {
  const Bytes<> token = bytes(131072);
  const auto tokens = [&](const char* engine, double pool) {
    return pool_tokens(**find_serving_memory(catalog(), engine, ""), gibibytes(pool), token).raw();
  };
  EXPECT_EQ(tokens("vllm", 3.81), 31200);
  EXPECT_EQ(tokens("vLLM TPU", 0.71), 5632);
  EXPECT_EQ(tokens("sglang", 3.81), 31211);
  EXPECT_EQ(tokens("vllm", -1.05), 0);
  EXPECT_EQ(tokens("vllm", 0.001), 0);
}

}  // namespace
}  // namespace shardplan
