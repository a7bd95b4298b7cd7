#include "reason/told_axes.h"

#include <gtest/gtest.h>

#include <string>

#include "import/question.h"

namespace shardplan {
namespace {

Question question() {
  QuestionSpec spec;
  spec.model = "llama3-70b";
  spec.gpu = "h100-sxm";
  spec.gpus = "64";
  spec.global_batch = "512";
  return build_question(spec, catalog()).value();
}

std::string nearest(const Question& q, const FixedAxes& fixed, const std::vector<ToldAxis>& told) {
  const auto illegal = why_illegal(q, fixed);
  return illegal ? illegal_axes(q, fixed, *illegal, told).nearest : "legal";
}

TEST(ToldAxes, TheNearestValueWithWhichAPlanIsLegalIsNamedAndIs) {
  const Question q = question();
  FixedAxes fixed;
  fixed.micro_batch = 3;
  EXPECT_EQ(nearest(q, fixed, {{"micro-batch", "--micro-batch"}}), "--micro-batch 4");
  EXPECT_EQ(nearest(q, fixed, {{"micro-batch", "--fix micro-batch"}}), "--fix micro-batch=4");
  fixed.micro_batch = 4;
  EXPECT_EQ(nearest(q, fixed, {{"micro-batch", "--micro-batch"}}), "legal");
}

TEST(ToldAxes, WhereOneAxisIsNotEnoughNothingIsNamed) {
  const Question q = question();
  FixedAxes fixed;
  fixed.micro_batch = 3;
  fixed.tp = 5;
  EXPECT_EQ(nearest(q, fixed, {{"micro-batch", "--micro-batch"}, {"tp", "--tp"}}), "");
}

TEST(ToldAxes, WhereNoneIsToldTheNearestNumberOfGpusIsNamed) {
  Question q = question();
  q.cluster.gpus = 4099;  // a prime
  const auto illegal = why_illegal(q, {});
  ASSERT_TRUE(illegal);
  const Error error = illegal_axes(q, {}, *illegal, {});
  EXPECT_EQ(error.where, "--gpus");
  EXPECT_EQ(error.nearest, "--gpus 4096");
  q.cluster.gpus = 4096;
  EXPECT_FALSE(why_illegal(q, {}));
}

}  // namespace
}  // namespace shardplan
