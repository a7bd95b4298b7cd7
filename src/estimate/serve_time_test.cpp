#include "estimate/serve_time.h"

#include <gtest/gtest.h>

#include "import/cluster_build.h"

namespace shardplan {
namespace {

struct Case {
  std::string model = "llama3-70b", gpu = "h200", engine = "trtllm";
  ServeSplit split{};
  ServeFormat format{Precision::kFp8, 8, 8, 8, 16, 8};
  ServeLoad load{4, 921.6, 921.6, false, false};
  double bandwidth_factor = 1;
};

template <class N = double>
TokenTime<N> time_of(const Case& c) {
  const Model model = (*find_model(catalog(), c.model, ""))->model().value();
  Cluster cluster =
      usual_cluster(catalog(), **find_device(catalog(), c.gpu, ""), c.split.gpus(), std::nullopt).value();
  auto& bandwidth = cluster.device.memory_bandwidth.value;
  bandwidth = c.bandwidth_factor * bandwidth;
  const auto& launch = catalog().collectives.launchers[static_cast<std::size_t>(Launcher::kDeviceKernel)];
  return token_time<N>(cluster, ServeShape(model, c.split, c.format),
                       **find_serving_time(catalog(), c.engine, ""), launch, {c.load, {}, 0});
}

double milliseconds_of(const Seconds<>& time) { return time.raw() * 1e3; }

TEST(ServeTime, AnatomyOfATokenIsNearTheMeasuredOne) {
  // TensorRT-LLM, H200, 70B fp8, 1k/1k: 20.1 ms on one GPU and 6.26 on eight at 4 requests, 13.5 at 64.
  EXPECT_NEAR(milliseconds_of(time_of({}).token()), 20.1, 2.0);
  EXPECT_NEAR(milliseconds_of(time_of({.split = {8, 1, 1}}).token()), 6.26, 1.0);
  // Its own all-reduces of 1 MiB take twice what a kernel of two shots does.
  EXPECT_NEAR(
      milliseconds_of(time_of({.split = {8, 1, 1}, .load = {64, 921.6, 921.6, false, false}}).token()), 13.5,
      3.1);
}

TEST(ServeTime, TermsAreZeroWhereThereIsNothingToDo) {
  const TokenTime<> one = time_of({});
  EXPECT_EQ(one.all_reduces.total().raw(), 0);
  EXPECT_EQ(one.prompt_all_reduces.total().raw(), 0);
  EXPECT_EQ(one.exchange.raw(), 0);
  EXPECT_GT(one.prompts.raw(), 0);
  EXPECT_EQ(time_of({.load = {1, 1000, 1000, false, false}}).prompts.raw(), 0);
  EXPECT_EQ(time_of({.load = {64, 1000, 1000, false, true}}).prompts.raw(), 0);
}

TEST(ServeTime, WeightsAndCacheAreReadAtTheirShare) {
  const TokenTime<> t = time_of({});
  const ServingLaw& law = (*find_serving_time(catalog(), "trtllm", ""))->law;
  // 68.45 G linear parameters in 8 bits and a head of 1.05 G in 16.
  EXPECT_NEAR(t.weights.raw() * law.weights.value.raw() * 4.8e12 / 1e9, 68.45 + 2.10, 0.05);
  // 4 sequences of 1.5 x 921.6 tokens, 160 KiB each.
  EXPECT_NEAR(t.cache.raw() * law.cache.value.raw() * 4.8e12, 4 * 1382.4 * 163840, 1e5);
}

TEST(ServeTime, MoreBandwidthIsNeverSlowerAndMoreRequestsNeverFaster) {
  double last = 0;
  for (const std::int64_t batch : {1, 2, 8, 32, 128}) {
    const Case c{.split = {4, 1, 1}, .load = {batch, 2000, 500, false, false}};
    Case faster = c;
    faster.bandwidth_factor = 2;
    const TokenTime<> t = time_of(c);
    EXPECT_LT(time_of(faster).token().raw(), t.token().raw());
    EXPECT_GT(t.token().raw(), last);
    EXPECT_GE(t.token().raw(), t.step().raw());
    last = t.token().raw();
  }
}

TEST(ServeTime, FewTokensReadFewExperts) {
  const Case one{.model = "qwen3-235b-a22b", .split = {8, 1, 1}, .load = {1, 1000, 1000, false, false}};
  Case many = one;
  many.load.batch = 512;
  const ServeShape shape((*find_model(catalog(), one.model, ""))->model().value(), one.split, one.format);
  const double all = shape.fixed_bytes + shape.expert_bytes;
  const double share = (time_of(one).weights / time_of(many).weights).raw();
  EXPECT_NEAR(share, (shape.fixed_bytes + shape.expert_bytes * 8 / 128) / all, 1e-3);
}

TEST(ServeTime, EveryGpuHasAKeyValueHeadOfItsOwn) {
  const Model model = (*find_model(catalog(), "qwen3-235b-a22b", ""))->model().value();  // 4 key-value heads
  const ServeShape four(model, {4, 1, 1}, {}), eight(model, {8, 1, 1}, {});
  EXPECT_EQ(four.caches[0].token_bytes(), eight.caches[0].token_bytes());
  EXPECT_NEAR(four.caches[0].token_bytes(), 94 * 2 * 128 * 2, 1e-6);
}

TEST(ServeTime, LatentCachesAreWholeOnEveryRank) {
  const Model model = (*find_model(catalog(), "deepseek-v3", ""))->model().value();
  const ServeShape one(model, {1, 1, 1}, {}), eight(model, {8, 1, 1}, {});
  EXPECT_EQ(one.caches[0].token_bytes(), 61 * 576 * 2);
  EXPECT_EQ(eight.caches[0].token_bytes(), one.caches[0].token_bytes());
}

TEST(ServeTime, TheExplanationIsTheNumber) {
  const Case c{.model = "deepseek-v3", .split = {4, 2, 2}, .load = {64, 4000, 1000, false, false}};
  const TokenTime<> number = time_of(c);
  const TokenTime<Traced> traced = time_of<Traced>(c);
  EXPECT_EQ(traced.token().raw().value(), number.token().raw());
  EXPECT_EQ(traced.prompt().raw().value(), number.prompt().raw());
}

}  // namespace
}  // namespace shardplan
