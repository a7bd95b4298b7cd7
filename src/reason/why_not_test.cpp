#include "reason/why_not.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "import/compare_question.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;

WhyNot asked(const char* preset, const char* gpus, const char* what) {
  QuestionSpec spec;
  spec.preset = preset;
  spec.gpu = "h100-sxm";
  spec.gpus = gpus;
  spec.framework = "megatron";
  spec.global_batch = "256";
  const auto kind = build_why_not(spec, read_plan_text(what, "WHAT").value(), catalog());
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
