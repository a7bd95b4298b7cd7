#include "reason/why_not.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "import/compare_question.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;

WhyNot asked(const char* preset, const char* gpus, const char* what, const BoundTexts& bounds = {},
             std::optional<std::string> fix = {}) {
  PlanSpec whole;
  whole.bounds = bounds;
  whole.fix = std::move(fix);
  QuestionSpec& spec = whole.question;
  spec.preset = preset;
  spec.gpu = "h100-sxm";
  spec.gpus = gpus;
  spec.framework = "megatron";
  spec.global_batch = "256";
  const auto kind = build_why_not(whole, read_plan_text(what, "WHAT").value(), catalog());
  EXPECT_TRUE(kind) << kind.error().message;
  const Estimator estimator(kind->question);
  return kind->kind.whole ? why_not(estimator, kind->question.fixed, kind->kind.as_plan(), what)
                          : why_not(estimator, kind->question.fixed, kind->with, what);
}

TEST(WhyNot, TheBestOfTheKindIsComparedWithTheBest) {
  const WhyNot w = asked("llama3-8b", "16", "pp4");
  ASSERT_TRUE(w.comparison);
  EXPECT_FALSE(w.as_good);
  EXPECT_EQ(w.comparison->b.estimate.plan.pp, 4);
  EXPECT_EQ(w.comparison->a.estimate.plan, w.best.best->plan);
  EXPECT_GT(w.comparison->step_b, w.comparison->step_a);
  EXPECT_THAT(w.statement, HasSubstr("pp4 is slower at its best: "));
}

TEST(WhyNot, WhatTheBestPlanHasIsSaid) {
  const WhyNot any = asked("llama3-8b", "16", "pp4");
  const Plan& best = any.best.best->plan;
  for (const std::string& what : {"tp" + std::to_string(best.tp), canonical(best)}) {
    const WhyNot w = asked("llama3-8b", "16", what.c_str());
    EXPECT_TRUE(w.as_good) << what;
    EXPECT_THAT(w.statement, HasSubstr("already"));
  }
}

TEST(WhyNot, AFasterOneThatIsNotSearchedIsSaidToBeFaster) {
  const WhyNot w = asked("llama3-70b", "64", "schedule=zb-v");
  ASSERT_TRUE(w.comparison);
  ASSERT_LT(w.comparison->step_b, w.comparison->step_a);
  EXPECT_THAT(w.statement, HasSubstr("zb-v is faster than the best plan"));
}

TEST(WhyNot, WhatIsSearchedIsBoundedAsForThePlan) {
  const WhyNot any = asked("llama3-8b", "16", "pp4");
  const WhyNot bounded = asked("llama3-8b", "16", "pp4", {.min = "tp=2", .max = {}, .forbid = {}});
  EXPECT_GE(bounded.best.best->plan.tp, 2);
  EXPECT_GE(bounded.with->best->plan.tp, 2);
  EXPECT_LT(any.best.best->plan.tp, 2);
  EXPECT_EQ(asked("llama3-8b", "16", "pp4", {}, "tp=2").best.best->plan.tp, 2);
  EXPECT_TRUE(asked("llama3-8b", "16", "pp4", {.min = {}, .max = {}, .forbid = "pp"}).illegal);
}

TEST(WhyNot, ARuleIsNamed) {
  const WhyNot w = asked("llama3-8b", "16", "ep2");
  ASSERT_TRUE(w.illegal);
  EXPECT_FALSE(w.as_good);
  EXPECT_THAT(w.statement, HasSubstr("without experts"));
  EXPECT_TRUE(w.best.best);
}

TEST(WhyNot, DegreesThatTheGpusCannotHaveAreARuleToo) {
  const WhyNot w = asked("llama3-8b", "16", "tp3");
  ASSERT_TRUE(w.illegal);
  EXPECT_THAT(w.statement, HasSubstr("16 GPUs"));
}

TEST(WhyNot, WhereNoneFitsTheNearestIsNamed) {
  const WhyNot w = asked("llama3-70b", "64", "tp1.pp1.zero0");
  EXPECT_FALSE(w.illegal);
  EXPECT_FALSE(w.as_good);
  ASSERT_TRUE(w.broken);
  EXPECT_GT(w.broken->value, w.broken->limit);
  EXPECT_THAT(w.statement, HasSubstr("fits: "));
}

}  // namespace
}  // namespace shardplan
