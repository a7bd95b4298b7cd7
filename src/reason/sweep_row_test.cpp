#include "reason/sweep_row.h"

#include <gtest/gtest.h>

#include "import/sweep_grid.h"

namespace shardplan {
namespace {

SweepRow row_of(const char* item) {
  return sweep_row(item_question(SweepItem::parse(item), catalog()), catalog().evidence);
}

/// What `plan` answers to the same flags.
Answer answer_of(const char* item) {
  const Question question = item_question(SweepItem::parse(item), catalog())->question;
  const Estimator estimator(question);
  return answer(estimator, question.fixed, search(estimator, question.fixed), catalog().evidence);
}

TEST(SweepRow, IsWhatPlanAnswers) {
  const char* item =
      R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": 8, "global-batch": 64, "seq": 8192})";
  const SweepRow row = row_of(item);
  const Answer full = answer_of(item);
  ASSERT_TRUE(row.run.best);
  EXPECT_EQ(canonical(row.run.best->plan), canonical(full.result.best->plan));
  EXPECT_EQ(row.run.best->step, full.result.best->step);
  EXPECT_EQ(row.run.best->memory.total(), full.result.best->memory.total());
  EXPECT_EQ(row.run.best->mfu.raw(), full.result.best->mfu.raw());
  EXPECT_EQ(row.binding.statement, full.binding.statement);
  EXPECT_EQ(row.verdict, full.verdict);
  ASSERT_TRUE(row.step_range);
  EXPECT_EQ(row.step_range->low.raw(), full.step_band->low(row.run.best->step.raw()));
  EXPECT_FALSE(row.error);
  EXPECT_FALSE(row.nearest_miss);
  EXPECT_FALSE(row.assumed.empty());
}

TEST(SweepRow, OfSeveralSizesIsTheBest) {
  const SweepRow row = row_of(
      R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": "4:32:4", "global-batch": 64, "objective": "cost",
          "tokens": "1T", "price": 2, "deadline": "200d"})");
  ASSERT_TRUE(row.run.best);
  EXPECT_EQ(row.gpus, row.run.best->plan.gpus());
  ASSERT_TRUE(row.run.sizes);
  EXPECT_EQ(row.gpus, row.run.sizes->search.gpus);
  EXPECT_TRUE(row.run.yes());
  // The same as the best of each size on its own.
  std::int64_t best_gpus = 0;
  double least = 0;
  for (std::int64_t gpus = 4; gpus <= 32; gpus += 4) {
    const SweepRow one = row_of(
        (R"({"preset": "llama3-8b", "gpu": "h100-sxm", "global-batch": 64, "tokens": "1T", "price": 2, "gpus": )" +
         std::to_string(gpus) + "}")
            .c_str());
    if (one.error || !one.run.best || one.run.totals->time->raw() > 200 * 86400.0) continue;
    const double cost = one.run.totals->cost->raw();
    if (best_gpus > 0 && cost >= least) continue;
    least = cost;
    best_gpus = gpus;
  }
  EXPECT_EQ(row.gpus, best_gpus);
  EXPECT_DOUBLE_EQ(row.run.totals->cost->raw(), least);
}

TEST(SweepRow, OfADeadlineThatIsMissedIsTheSoonest) {
  const SweepRow row = row_of(
      R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": "8:16:8", "global-batch": 64, "tokens": "1T",
          "deadline": "1d"})");
  ASSERT_TRUE(row.run.best);
  EXPECT_FALSE(row.run.yes());
  EXPECT_EQ(row.gpus, 16);
}

TEST(SweepRow, WhereNothingFitsOnAnySizeIsOfTheLargest) {
  const SweepRow row = row_of(R"({"preset": "llama3-70b", "gpu": "h100-sxm", "gpus": "1:8"})");
  EXPECT_FALSE(row.error);
  EXPECT_FALSE(row.run.best);
  EXPECT_EQ(row.gpus, 8);
  EXPECT_EQ(row.binding.kind, "state");
}

TEST(SweepRow, WhereNothingFitsSaysWhatBindsAndWhatIsNearest) {
  // The state alone is too large, and the same with the activations.
  for (
      const char* item :
      {R"({"preset": "llama3-70b", "gpu": "h100-sxm", "gpus": 8})",
       R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": 2, "seq": 131072, "cp": 1, "global-batch": 2})"}) {
    const SweepRow row = row_of(item);
    const Answer full = answer_of(item);
    EXPECT_FALSE(row.run.best) << item;
    EXPECT_EQ(row.binding.statement, full.binding.statement);
    EXPECT_EQ(row.binding.unit, "bytes");
    ASSERT_TRUE(row.nearest_miss);
    EXPECT_EQ(canonical(row.nearest_miss->plan), canonical(full.result.census.nearest_miss->plan));
    EXPECT_EQ(row.nearest_miss->shortfall, full.result.census.nearest_miss->shortfall);
    EXPECT_FALSE(row.error);
  }
}

TEST(SweepRow, WhatCannotBeIsAnError) {
  const SweepRow unknown = row_of(R"({"preset": "llama3-8", "gpus": 8})");
  ASSERT_TRUE(unknown.error);
  EXPECT_EQ(unknown.error->where, "--preset");
  EXPECT_EQ(unknown.error->nearest, "llama3-8b");
  const SweepRow indivisible = row_of(R"({"preset": "llama3-8b", "gpus": 48, "tp": 3})");
  ASSERT_TRUE(indivisible.error);
  EXPECT_EQ(indivisible.error->code, "illegal_plan");
  EXPECT_TRUE(indivisible.assumed.empty());
}

}  // namespace
}  // namespace shardplan
