#include "reason/serve_answer.h"

#include <gmock/gmock.h>

#include "import/flag_list.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

FlagList flags(const FlagList& more) {
  FlagList all{{"--params", "175"}, {"--layers", "96"}, {"--hidden", "12288"}, {"--heads", "96"},
               {"--seq", "2048"},   {"--gpus", "64"},   {"--pp", "1"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

ServeAnswer answer_of(const FlagList& more) {
  return serve_answer(serve_question_from_flags(flags(more), catalog()).value());
}

TEST(ServeAnswer, OneNodeMeetsTheLimitAndHalfOfItDoesNot) {
  const ServeAnswer node = answer_of({{"--tp", "8"}, {"--batch", "8"}, {"--tpot-ms", "25"}});
  EXPECT_TRUE(node.feasible());
  EXPECT_EQ(node.findings.binding.kind, "latency");
  EXPECT_NEAR(node.findings.binding.value, 192 * 70e-6, 1e-9);
  EXPECT_EQ(node.findings.binding.limit, 0.025);
  EXPECT_EQ(node.shown().plan.dp, 8);
  const ServeAnswer half = answer_of({{"--tp", "4"}, {"--batch", "8"}, {"--tpot-ms", "25"}});
  EXPECT_FALSE(half.feasible());
  EXPECT_TRUE(half.shown().fits);
  EXPECT_EQ(half.findings.binding.kind, "hbm_bandwidth");
  EXPECT_TRUE(answer_of({{"--tp", "4"}, {"--batch", "8"}}).feasible());
}

TEST(ServeAnswer, MemoryThatDoesNotFitNamesWhatIsTooMuch) {
  const ServeAnswer weights = answer_of({{"--tp", "1"}});
  EXPECT_EQ(weights.findings.binding.kind, "weights");
  EXPECT_EQ(weights.shown().cost.room.tokens.raw(), 0);
  const ServeAnswer cache = answer_of({{"--tp", "2"}, {"--batch", "8"}});
  EXPECT_EQ(cache.findings.binding.kind, "kv_cache");
  EXPECT_FALSE(cache.feasible());
  // 182.32 - 162.98 GiB leave room for four caches of 4.5 GiB.
  EXPECT_EQ(cache.shown().cost.room.requests.raw(), 4);
  EXPECT_TRUE(answer_of({{"--tp", "2"}, {"--batch", "4"}}).shown().fits);
  EXPECT_FALSE(answer_of({{"--tp", "2"}, {"--batch", "5"}}).shown().fits);
}

TEST(ServeAnswer, EveryLegalDegreeIsTriedAndTheFastestTokenWins) {
  const ServeAnswer a = answer_of({{"--batch", "8"}, {"--tpot-ms", "25"}});
  std::vector<int> degrees;
  for (const ServePlan& p : a.plans()) degrees.push_back(p.plan.tp);
  EXPECT_THAT(degrees, testing::ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_EQ(a.shown().plan.tp, 8);
  // 16 and 32 are slower than 8 and make less on each GPU; 4 makes more.
  std::vector<std::int64_t> front;
  for (const ServePlan& p : a.search.front) front.push_back(p.split.tensor);
  EXPECT_THAT(front, testing::ElementsAre(4, 8));
}

TEST(ServeAnswer, ThresholdsTurnTheAnswer) {
  const FlagList base{{"--tp", "8"}, {"--tpot-ms", "25"}};
  for (const Threshold& t :
       answer_of({{"--tp", "8"}, {"--tpot-ms", "25"}, {"--batch", "8"}}).findings.thresholds) {
    if (t.parameter != "batch") continue;
    const auto at = [&](double batch) {
      FlagList more = base;
      more.emplace_back("--batch", std::to_string(static_cast<int>(batch)));
      return answer_of(more).feasible();
    };
    EXPECT_TRUE(at(t.threshold - 1));
    EXPECT_FALSE(at(t.threshold));
    return;
  }
  FAIL() << "no threshold of the batch";
}

TEST(ServeAnswer, TheNearestThresholdIsFirst) {
  const auto found = answer_of({{"--tp", "8"}, {"--tpot-ms", "25"}, {"--batch", "8"}}).findings.thresholds;
  ASSERT_GE(found.size(), 2U);
  const auto away = [](const Threshold& t) { return std::fabs(std::log(t.threshold / t.current)); };
  for (std::size_t i = 0; i + 1 < found.size(); ++i) EXPECT_LE(away(found[i]), away(found[i + 1]));
}

TEST(ServeAnswer, LargeBatchesAreBoundByArithmetic) {
  const ServeAnswer a = answer_of({{"--tp", "8"}, {"--batch", "512"}, {"--seq", "16"}});
  EXPECT_GT(a.shown().cost.time.products, a.shown().cost.time.weights);
  EXPECT_EQ(a.findings.binding.kind, "compute");
}

}  // namespace
}  // namespace shardplan
