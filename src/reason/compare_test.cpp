#include "reason/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "import/compare_question.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

QuestionSpec spec_of(const char* preset, const char* gpus, const char* framework = "megatron") {
  QuestionSpec s;
  s.preset = preset;
  s.gpu = "h100-sxm";
  s.gpus = gpus;
  s.framework = framework;
  return s;
}

ComparedPlans asked(const QuestionSpec& spec, const char* a, const char* b) {
  const auto both = build_comparison(
      spec, {read_plan_text(a, "PLAN_A").value(), read_plan_text(b, "PLAN_B").value()}, catalog());
  EXPECT_TRUE(both) << both.error().message;
  return both.value();
}

Comparison compared(const QuestionSpec& spec, const char* a, const char* b) {
  const ComparedPlans both = asked(spec, a, b);
  const Estimator estimator(both.question);
  return compare(estimator, both.plans[0].plan, both.plans[1].plan);
}

void expect_sums(const Comparison& c) {
  double terms = 0, a = 0, b = 0;
  for (const TimeDifference& t : c.time) {
    terms += t.more().raw();
    a += t.a.exposed().raw();
    b += t.b.exposed().raw();
  }
  const double rounding = 1e-9 * std::max(c.step_a.raw(), c.step_b.raw());
  EXPECT_NEAR(terms, (c.step_b - c.step_a).raw(), rounding);
  EXPECT_NEAR(a, c.step_a.raw(), rounding);
  EXPECT_NEAR(b, c.step_b.raw(), rounding);
  Bytes<> memory_a, memory_b;
  for (const MemoryDifference& m : c.memory) {
    memory_a += m.a;
    memory_b += m.b;
  }
  EXPECT_NEAR(memory_a.raw(), c.a.memory.worst().total().raw(), 1);
  EXPECT_NEAR(memory_b.raw(), c.b.memory.worst().total().raw(), 1);
}

TEST(Compare, DifferencesSumToThatOfTheSteps) {
  for (const char* preset : {"llama3-8b", "qwen3-30b-a3b"}) {
    const Question q = build_question(spec_of(preset, "16"), catalog()).value();
    const Estimator estimator(q);
    std::vector<Plan> plans;
    estimator.space().for_some(q.fixed, 2, [&](const Plan& p) { plans.push_back(p); });
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const Plan &a = plans[random() % plans.size()], &b = plans[random() % plans.size()];
      expect_sums(compare(estimator, a, b));
    }
  }
}

TEST(Compare, EachTimeIsThePlansOwn) {
  const ComparedPlans both = asked(spec_of("llama3-8b", "16"), "tp4.pp2", "tp2.pp4");
  const Estimator estimator(both.question);
  const Comparison c = compare(estimator, both.plans[0].plan, both.plans[1].plan);
  EXPECT_EQ(c.step_a, estimator.time<double>(both.plans[0].plan).total());
  EXPECT_EQ(c.step_b, estimator.time<double>(both.plans[1].plan).total());
  for (std::size_t i = 1; i < c.time.size(); ++i)
    EXPECT_GE(std::fabs(c.time[i - 1].more().raw()), std::fabs(c.time[i].more().raw()));
}

TEST(Compare, TurnedAroundTheOtherIsBetter) {
  const QuestionSpec spec = spec_of("llama3-8b", "16");
  const Comparison one = compared(spec, "tp4.pp2", "tp2.pp4"), other = compared(spec, "tp2.pp4", "tp4.pp2");
  EXPECT_NE(one.first_is_better(), other.first_is_better());
  EXPECT_EQ(one.statement, other.statement);
  EXPECT_EQ((one.step_b - one.step_a).raw(), (other.step_a - other.step_b).raw());
}

TEST(Compare, OfOnePlanNothingDiffers) {
  const Comparison c = compared(spec_of("llama3-8b", "16"), "tp4", "tp4");
  EXPECT_TRUE(c.first_is_better());
  EXPECT_THAT(c.statement, HasSubstr("both take"));
  for (const TimeDifference& t : c.time) EXPECT_EQ(t.more().raw(), 0);
}

TEST(Compare, APlanThatDoesNotFitIsNotBetterHoweverFast) {
  const Comparison c = compared(spec_of("llama3-70b", "64"), "z1.mb1", "tp8.pp4.z1.mb1");
  EXPECT_FALSE(c.a.fits());
  EXPECT_TRUE(c.b.fits());
  EXPECT_FALSE(c.first_is_better());
  EXPECT_THAT(c.statement, HasSubstr("alone fits: state binds"));
}

TEST(Compare, NumbersOfTheSentenceAreFigures) {
  const ComparedPlans both = asked(spec_of("llama3-8b", "16"), "dp16.z1.mb1.ga8", "dp4.tp4.z1.mb1.ga32");
  const Comparison c = compare(Estimator(both.question), both.plans[0].plan, both.plans[1].plan);
  const auto figure = [&](const std::string& id) {
    const auto at =
        std::find_if(c.figures.begin(), c.figures.end(), [&](const auto& f) { return f.id == id; });
    return at == c.figures.end() ? 0.0 : at->value;
  };
  EXPECT_EQ(figure("faster"), std::min(c.step_a, c.step_b).raw());
  EXPECT_EQ(figure("slower"), std::max(c.step_a, c.step_b).raw());
  EXPECT_EQ(figure(name(c.time.front().term)), std::abs(c.time.front().more().raw()));
}

TEST(Compare, BatchesThatDifferAreComparedBySequence) {
  QuestionSpec spec = spec_of("llama3-8b", "16");
  const Comparison c = compared(spec, "dp4·tp4·z1·mb1·ga8", "dp4·tp4·z1·mb1·ga16");
  EXPECT_TRUE(c.per_sequence);
  EXPECT_THAT(c.statement, HasSubstr("a sequence"));
  EXPECT_FALSE(c.first_is_better());  // the reduction is once a step
  expect_sums(c);
}

TEST(Compare, WhyTellsBytesRanksTierAndBandwidth) {
  const Comparison c = compared(spec_of("llama3-8b", "16"), "tp8.pp1", "tp2.pp4");
  const auto of = [&](TimeTerm term) {
    for (const TimeDifference& t : c.time) {
      if (t.term == term) return t;
    }
    return TimeDifference{};
  };
  EXPECT_THAT(of(TimeTerm::kTensor).why_a, HasSubstr("over 8 ranks"));
  EXPECT_THAT(of(TimeTerm::kTensor).why_a, HasSubstr("tier node has 360 GB/s"));
  EXPECT_THAT(of(TimeTerm::kBubble).why_a, HasSubstr("one stage"));
  EXPECT_THAT(of(TimeTerm::kBubble).why_b, HasSubstr("over 4 stages"));
  EXPECT_THAT(of(TimeTerm::kGemm).why_b, HasSubstr("of the peak"));
}

TEST(Compare, WhatIsCloserThanTheBandIsNotToldApart) {
  const ComparedPlans both = asked(spec_of("llama3-8b", "16"), "dp16.z1.mb1.ga8", "dp16.z1.mb1.ga8.full");
  const Question& q = both.question;
  const Estimator estimator(q);
  const Plan &a = both.plans[0].plan, &b = both.plans[1].plan;
  const Comparison bare = compare(estimator, a, b);
  ASSERT_GT(bare.step_b, bare.step_a);
  EXPECT_TRUE(bare.told_apart());
  EXPECT_THAT(bare.statement, Not(HasSubstr("told apart")));
  const double over = (bare.step_b / bare.step_a).raw();
  const auto with_band = [&](double high) {
    Evidence evidence;
    evidence.bands.push_back({kTimeBand, "gpu", q.cluster.device.name, 40, 1, high});
    return compare(estimator, a, b, evidence);
  };
  const Comparison wide = with_band(over * 1.01), narrow = with_band(1 + (over - 1) / 2);
  EXPECT_FALSE(wide.told_apart());
  EXPECT_THAT(wide.statement, HasSubstr("not told apart: of 40 measured runs"));
  EXPECT_TRUE(narrow.told_apart());
  EXPECT_THAT(narrow.statement, Not(HasSubstr("told apart")));
}

TEST(Comparison, WhatAPlanLeavesOutIsSaid) {
  const ComparedPlans both = asked(spec_of("llama3-8b", "16"), "tp4", "dp4·tp4·z1·mb1·ga256");
  EXPECT_EQ(both.plans[0].plan.dp, 4);
  EXPECT_EQ(both.plans[0].plan.sequences(), both.plans[1].plan.sequences());
  EXPECT_THAT(both.plans[0].assumed, testing::Contains(HasSubstr("PLAN_A: ")));
  EXPECT_TRUE(both.plans[1].assumed.empty());
  EXPECT_THAT(both.question.assumed, testing::Contains(HasSubstr("that of PLAN_B")));
}

TEST(Comparison, WithoutGpusThereAreThoseOfAWholePlan) {
  QuestionSpec spec = spec_of("llama3-8b", "16");
  spec.gpus.reset();
  EXPECT_EQ(asked(spec, "tp4", "dp4·tp4·pp2·z1·mb1·ga8").question.cluster.gpus, 32);
}

TEST(Comparison, AToldBatchIsHeld) {
  QuestionSpec spec = spec_of("llama3-8b", "16");
  spec.global_batch = "64";
  EXPECT_EQ(asked(spec, "dp4·tp4·z1·mb1", "tp4").plans[0].plan.grad_accumulation, 16);
  const auto other = build_comparison(
      spec, {read_plan_text("dp4·tp4·z1·mb1·ga8", "PLAN_A").value(), read_plan_text("tp4", "PLAN_B").value()},
      catalog());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().where, "PLAN_A");
  EXPECT_EQ(other.error().expected, "ga16");
}

}  // namespace
}  // namespace shardplan
