// The rule that is blamed is one without which a plan would be legal.
#include <gmock/gmock.h>

#include <string>

#include "import/question.h"
#include "reason/answer.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::Not;

Question question(const char* model, const char* gpus, const char* batch) {
  QuestionSpec spec;
  spec.model = model;
  spec.gpu = "h100-sxm";
  spec.gpus = gpus;
  spec.global_batch = batch;
  return build_question(spec, catalog()).value();
}

std::string why(const Question& q, const FixedAxes& fixed) {
  const auto illegal = why_illegal(q, fixed);
  return illegal ? illegal->where : "legal";
}

TEST(WhyIllegal, ABatchOfOneIsWhatTwoReplicasBreakWhateverTheOtherAxesAre) {
  Question q = question("llama3-8b", "16", "1");
  FixedAxes fixed;
  fixed.dp = 2;
  EXPECT_EQ(why(q, fixed), "dp 2 x micro-batch 1 does not divide the global batch of 1 sequence");
  EXPECT_EQ(why_illegal(q, fixed)->constraint, Constraint::kBatch);
  q.workload.global_batch = 2;
  EXPECT_EQ(why(q, fixed), "legal");
}

TEST(WhyIllegal, DegreesThatDivideNoGpusAreBlamedForThat) {
  const Question q = question("llama3-8b", "16", "1024");
  FixedAxes fixed;
  fixed.pp = 3;
  EXPECT_EQ(why(q, fixed), "pp 3 does not divide 16 GPUs");
  fixed.cp = 2;
  EXPECT_EQ(why(q, fixed), "pp 3 x cp 2 does not divide 16 GPUs");
  fixed = {};
  fixed.dp = fixed.pp = fixed.cp = 1;
  fixed.tp = 8;
  EXPECT_EQ(why(q, fixed), "dp 1 x tp 8 x pp 1 x cp 1 = 8, and there are 16 GPUs");
}

TEST(WhyIllegal, RulesThatNoPlanKeepsAreAllNamed) {
  const Question q = question("llama3-70b", "64", "512");
  FixedAxes fixed;
  fixed.tp = 5;
  EXPECT_THAT(why(q, fixed),
              HasSubstr("tp 5 does not divide 64 GPUs, and tp 5 does not divide 64 attention heads"));
}

TEST(WhyIllegal, RulesOfWhichEachWouldDoAreAlternatives) {
  // Of 64 GPUs a batch of 1 leaves tp, pp and cp, and each is told as far as it goes.
  const Question q = question("llama3-8b", "64", "1");
  FixedAxes fixed;
  fixed.pp = fixed.cp = 1;
  const std::string said = why(q, fixed);
  EXPECT_THAT(said, HasSubstr("does not divide the global batch of 1 sequence"));
  EXPECT_THAT(said, HasSubstr("; or tp 64 does not divide 32 attention heads"));
  EXPECT_THAT(said, Not(HasSubstr("GPUs")));
}

TEST(WhyIllegal, EndsOfAPipelineNeedOne) {
  const Question q = question("llama3-8b", "16", "1024");
  FixedAxes fixed;
  fixed.pp = 1;
  fixed.first_layers = 3;
  EXPECT_THAT(why(q, fixed), HasSubstr("needs a pipeline, pp > 1; the first one is told to hold 3"));
  fixed.pp = 2;
  EXPECT_EQ(why(q, fixed), "legal");
}

TEST(WhyIllegal, OfBoundsThoseAreNamedThatHaveToGo) {
  const Question q = question("llama3-8b", "16", "4");
  FixedAxes fixed;
  fixed.bounds_of(Degree::kDp).least = 8;
  fixed.bounds_of(Degree::kTp).most = 4;
  EXPECT_THAT(why(q, fixed), HasSubstr("dp at least 8 leaves none: dp 16 x micro-batch 1 does not divide"));
  FixedAxes other = fixed;
  other.bounds_of(Degree::kDp) = {};
  EXPECT_EQ(why(q, other), "legal");
  // Neither is enough alone.
  fixed.bounds_of(Degree::kMicroBatch).least = 8;
  EXPECT_THAT(why(q, fixed), HasSubstr("dp at least 8, tp at most 4, micro-batch at least 8 leave none"));
}

}  // namespace
}  // namespace shardplan
