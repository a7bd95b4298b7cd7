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
  const Question question = item_question(SweepItem::parse(item), catalog()).value();
  const Estimator estimator(question);
  return answer(estimator, question.fixed, search(estimator, question.fixed), catalog().evidence);
}

TEST(SweepRow, IsWhatPlanAnswers) {
  const char* item =
      R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": 8, "global-batch": 64, "seq": 8192})";
  const SweepRow row = row_of(item);
  const Answer full = answer_of(item);
  ASSERT_TRUE(row.best);
  EXPECT_EQ(canonical(row.best->plan), canonical(full.result.best->plan));
  EXPECT_EQ(row.best->step, full.result.best->step);
  EXPECT_EQ(row.best->memory.total(), full.result.best->memory.total());
  EXPECT_EQ(row.best->mfu.raw(), full.result.best->mfu.raw());
  EXPECT_EQ(row.binding.statement, full.binding.statement);
  EXPECT_EQ(row.verdict, full.verdict);
  ASSERT_TRUE(row.step_range);
  EXPECT_EQ(row.step_range->low.raw(), full.step_band->low(row.best->step.raw()));
  EXPECT_FALSE(row.error);
  EXPECT_FALSE(row.nearest_miss);
  EXPECT_FALSE(row.assumed.empty());
}

TEST(SweepRow, WhereNothingFitsSaysWhatBindsAndWhatIsNearest) {
  // The state alone is too large, and the same with the activations.
  for (
      const char* item :
      {R"({"preset": "llama3-70b", "gpu": "h100-sxm", "gpus": 8})",
       R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": 2, "seq": 131072, "cp": 1, "global-batch": 2})"}) {
    const SweepRow row = row_of(item);
    const Answer full = answer_of(item);
    EXPECT_FALSE(row.best) << item;
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
