// The search of serving against one that tries every split and every batch.
#include "search/serve_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/flag_list.h"
#include "search/serve_splits.h"

namespace shardplan {
namespace {

ServeQuestion question_of(FlagList more) {
  FlagList flags{{"--gpu", "h100-sxm"}, {"--input", "1000"}, {"--output", "300"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return serve_question_from_flags(flags, catalog()).value();
}

TEST(ServeSplits, AreTheDegreesThatDivide) {
  const ServeQuestion q = question_of({{"--preset", "llama3-8b"}, {"--gpus", "8"}});
  std::vector<std::vector<std::int64_t>> found;
  for (const ServeSplit& s : SplitRules(q).all()) found.push_back({s.tensor, s.pipeline, s.data});
  EXPECT_THAT(found, testing::ElementsAreArray(std::vector<std::vector<std::int64_t>>{{1, 1, 1},
                                                                                      {1, 2, 1},
                                                                                      {1, 4, 1},
                                                                                      {1, 8, 1},
                                                                                      {2, 1, 1},
                                                                                      {2, 2, 1},
                                                                                      {2, 4, 1},
                                                                                      {4, 1, 1},
                                                                                      {4, 2, 1},
                                                                                      {8, 1, 1}}));
}

TEST(ServeSplits, OfAMixtureGroupsOfAttentionShareTheExperts) {
  const ServeQuestion q = question_of({{"--preset", "deepseek-v3"}, {"--gpus", "16"}, {"--pp", "1"}});
  const SplitRules rules(q);
  EXPECT_FALSE(rules.broken({1, 1, 16}));
  EXPECT_FALSE(rules.broken({8, 1, 2}));
  EXPECT_EQ(rules.broken({3, 1, 1})->nearest, 2);
  EXPECT_STREQ(rules.broken({1, 100, 1})->flag, "--pp");
  const ServeQuestion dense = question_of({{"--preset", "llama3-8b"}, {"--gpus", "8"}});
  EXPECT_STREQ(SplitRules(dense).broken({1, 1, 2})->flag, "--dp-attention");
}

TEST(ServeSplits, BlocksThatShareAScaleStayWhole) {
  // 1,536 over 8 is no multiple of 128: the experts stay whole.
  ServeQuestion q = question_of({{"--preset", "qwen3-235b-a22b"}, {"--gpus", "8"}});
  q.format.block = 128;
  EXPECT_TRUE(SplitRules(q).whole_experts({8, 1, 1}));
  EXPECT_FALSE(SplitRules(q).whole_experts({4, 1, 1}));
  EXPECT_EQ(serve_plan(q, {8, 1, 1}, 1).plan.ep, 8);
  EXPECT_EQ(serve_plan(q, {4, 1, 1}, 1).plan.ep, 1);
}

/// Every split and every batch up to a number, the best by the question's goal.
ServePlan by_force(const ServeQuestion& q, std::int64_t most) {
  std::optional<ServePlan> best;
  for (const ServeSplit& split : SplitRules(q).all()) {
    for (std::int64_t batch = 1; batch <= most; ++batch) {
      const ServePlan p = serve_plan(q, split, batch);
      if (!best || better(q, p, *best)) best = p;
    }
  }
  return *best;
}

TEST(ServeSearch, TheLargestBatchWithinTheLimitsIsFound) {
  for (const FlagList& limits : {FlagList{{"--tpot-ms", "14"}}, FlagList{{"--ttft-ms", "60"}},
                                 FlagList{{"--tpot-ms", "10"}, {"--ttft-ms", "100"}}}) {
    FlagList flags{{"--preset", "llama3-8b"}, {"--gpus", "4"}};
    flags.insert(flags.end(), limits.begin(), limits.end());
    const ServeQuestion q = question_of(flags);
    const ServePlan found = search_serving(q).best(), forced = by_force(q, 300);
    ASSERT_TRUE(found.good());
    if (forced.batch < 300) {
      EXPECT_EQ(found.batch, forced.batch);
      EXPECT_EQ(found.split, forced.split);
    }
    EXPECT_GE(found.tokens_per_gpu(), forced.tokens_per_gpu());
  }
}

TEST(ServeSearch, ARateTakesTheFewestGpusThatCarryIt) {
  const ServeQuestion q =
      question_of({{"--preset", "llama3-70b"}, {"--gpus", "64"}, {"--rate", "20"}, {"--tpot-ms", "40"}});
  const ServePlan found = search_serving(q).best();
  ASSERT_TRUE(found.good());
  EXPECT_GE(found.requests.raw(), 20 * (1 - 1e-9));
  // With one replica less no split carries it.
  for (const ServeSplit& split : SplitRules(q).all()) {
    for (std::int64_t batch = 1; batch <= 1024; batch += 7) {
      const ServePlan p = serve_plan(q, split, batch);
      if (!p.fits || p.cost.tpot > *q.tpot_limit) continue;
      const double replicas = std::ceil(20 / p.cost.requests.raw());
      EXPECT_GE(replicas * static_cast<double>(split.gpus()), static_cast<double>(found.gpus()));
    }
  }
  // A batch less and the rate is not carried.
  EXPECT_LT(
      static_cast<double>(found.replicas) * serve_plan(q, found.split, found.batch - 1).cost.requests.raw(),
      20);
}

TEST(ServeSearch, NoPointOfTheFrontIsBeaten) {
  const ServeQuestion q = question_of({{"--preset", "llama3-70b"}, {"--gpus", "8"}, {"--batch", "16"}});
  const ServeSearch found = search_serving(q);
  ASSERT_GE(found.front.size(), 2U);
  for (std::size_t i = 1; i < found.front.size(); ++i) {
    EXPECT_LT(found.front[i].cost.tpot, found.front[i - 1].cost.tpot);
    EXPECT_LT(found.front[i].tokens_per_gpu(), found.front[i - 1].tokens_per_gpu());
  }
  for (const ServePlan& p : found.plans) {
    if (!p.fits) continue;
    EXPECT_TRUE(std::any_of(found.front.begin(), found.front.end(), [&](const ServePlan& f) {
      return f.cost.tpot <= p.cost.tpot && f.tokens_per_gpu() >= p.tokens_per_gpu();
    }));
  }
}

TEST(ServeSearch, PromptsApartLeaveTheTokenAloneAndKeepTheLimits) {
  const FlagList base{{"--preset", "llama3-70b"}, {"--gpus", "32"},    {"--input", "8000"},
                      {"--output", "500"},        {"--tpot-ms", "30"}, {"--ttft-ms", "3000"}};
  FlagList apart = base;
  apart.emplace_back("--mode", "disaggregated");
  const ServePlan p = search_serving(question_of(apart)).best();
  ASSERT_TRUE(p.prefill);
  ASSERT_TRUE(p.good());
  EXPECT_LE(p.gpus(), 32);
  EXPECT_EQ(p.cost.time.prompts.raw(), 0);
  EXPECT_LE(p.ttft.raw(), 3);
  EXPECT_LE(p.prefill->busy.raw(), 0.95);
  // What comes is what both carry.
  EXPECT_LE(p.requests.raw(), p.cost.requests.raw() * static_cast<double>(p.replicas) * (1 + 1e-9));
  FlagList either = base;
  either.emplace_back("--mode", "either");
  const ServePlan best = search_serving(question_of(either)).best();
  const ServePlan together = search_serving(question_of(base)).best();
  EXPECT_GE(best.tokens_per_gpu(), std::max(p.tokens_per_gpu(), together.tokens_per_gpu()));
}

TEST(ServeSearch, AStricterPercentileIsNeverFaster) {
  double last = 0;
  for (const char* percentile : {"50", "90", "99"}) {
    const ServeQuestion q = question_of(
        {{"--preset", "llama3-70b"}, {"--gpus", "8"}, {"--batch", "32"}, {"--percentile", percentile}});
    const double tpot = serve_plan(q, {4, 1, 1}, 32).cost.tpot.raw();
    EXPECT_GT(tpot, last);
    last = tpot;
  }
}

TEST(ServeSearch, StepsThatAreNotCapturedTakeLonger) {
  const FlagList base{{"--preset", "llama3-70b"}, {"--gpus", "8"}, {"--batch", "4"}};
  FlagList eager = base;
  eager.emplace_back("--graphs", "off");
  const auto tpot = [](const FlagList& flags) {
    return serve_plan(question_of(flags), {8, 1, 1}, 4).cost.tpot.raw();
  };
  EXPECT_GT(tpot(eager), tpot(base) + 160 * 10e-6);
}

TEST(ServeSearch, GuessesThatHoldMakeTokensFasterAndThoseThatDoNotSlower) {
  const auto tpot = [](FlagList more) {
    more.insert(more.begin(), {{"--preset", "llama3-70b"}, {"--gpus", "8"}, {"--batch", "1"}});
    return serve_plan(question_of(more), {8, 1, 1}, 1).cost.tpot.raw();
  };
  EXPECT_LT(tpot({{"--draft-tokens", "3"}, {"--accepted", "2.8"}}), tpot({}) / 2);
  EXPECT_GT(tpot({{"--draft-tokens", "3"}, {"--accepted", "1"}}), tpot({}));
}

}  // namespace
}  // namespace shardplan
