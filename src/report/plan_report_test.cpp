#include "report/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/flag_list.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::Not;

Question question() {
  return question_from_flags(
             Purpose::kPlan,
             {{"--preset", "llama3-8b"}, {"--gpu", "h100-sxm"}, {"--gpus", "8"}, {"--global-batch", "64"}},
             catalog())
      .value();
}

TEST(PlanReport, SaysWhatWasNotLookedAtAsItWasStopped) {
  const Question q = question();
  const Estimator estimator(q);
  SearchWatch watch;
  SearchResult result = search(estimator, q.fixed);
  watch.stop = true;
  const Answer a = answer(estimator, q.fixed, std::move(result), {}, &watch);
  const Json json = plan_answer_json(q, a, {});
  EXPECT_EQ(json["search"]["stopped"], false) << "the plan itself is the best";
  EXPECT_THAT(json["search"]["not_looked_at"].dump(), HasSubstr("\"threshold: sequence\""));
  const std::string text = plan_text(q, a, {});
  EXPECT_THAT(text, HasSubstr("\nnot looked at to the end, as the search was stopped\n  axis not used: "));
  EXPECT_THAT(text, Not(HasSubstr("what would change the answer")));
  EXPECT_THAT(text, Not(HasSubstr("stopped before its end")));
}

TEST(PlanReport, ASearchThatRanThroughLookedAtAll) {
  const Question q = question();
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  EXPECT_EQ(plan_answer_json(q, a, {})["search"]["not_looked_at"], Json::array());
  EXPECT_THAT(plan_text(q, a, {}), Not(HasSubstr("stopped")));
}

TEST(PlanReport, DoesNotSayThatNothingFitsWhereNobodyLooked) {
  const Question q = question();
  const Estimator estimator(q);
  SearchResult result;
  result.stopped = true;
  const Answer a = answer(estimator, q.fixed, std::move(result));
  const std::string text = plan_text(q, a, {});
  EXPECT_THAT(text, HasSubstr("no plan found yet: llama3-8b on 8 x h100-sxm\n"
                              "the search was stopped before it had found a plan\n"));
  EXPECT_THAT(text, HasSubstr("stopped before its end: plans may be among those that were not searched"));
  EXPECT_THAT(text, Not(HasSubstr("fits")));
  const Json json = plan_answer_json(q, a, {});
  EXPECT_TRUE(json["feasible"].is_null());
  EXPECT_EQ(json["search"]["stopped"], true);
}

}  // namespace
}  // namespace shardplan
