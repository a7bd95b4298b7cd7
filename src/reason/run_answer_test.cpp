#include "reason/run_answer.h"

#include <gtest/gtest.h>

#include "import/plan_question.h"

namespace shardplan {
namespace {

PlanQuestion asked(const char* gpus, const char* objective = nullptr) {
  PlanSpec spec;
  spec.question.preset = "llama3-8b";
  spec.question.gpu = "h100-sxm";
  spec.question.gpus = gpus;
  spec.question.global_batch = "64";
  spec.objective.price = "2";
  if (objective != nullptr) spec.objective.objective = objective;
  return build_plan_question(spec, catalog()).value();
}

TEST(ChooseSize, OfOneSizeIsThatOne) {
  const SizeChoice choice = choose_size(asked("8"));
  EXPECT_EQ(choice.question.cluster.gpus, 8);
  EXPECT_FALSE(choice.sizes);
  EXPECT_FALSE(choice.stopped());
}

TEST(ChooseSize, OfSeveralIsTheBestAndItsPlanIsThatOfASearchOfIt) {
  for (const char* objective : {"step-time", "cost"}) {
    const PlanQuestion several = asked("4:32:4", objective);
    const SizeChoice choice = choose_size(several);
    ASSERT_TRUE(choice.sizes);
    EXPECT_EQ(choice.question.cluster.gpus, choice.sizes->search.gpus);
    const Estimator estimator(choice.question);
    const SearchResult result = search_chosen(estimator, choice);
    ASSERT_TRUE(result.best);
    EXPECT_EQ(canonical(result.best->plan), canonical(choice.sizes->search.best->plan));
    EXPECT_EQ(result.runners_up.size(), 3U);
  }
  EXPECT_LT(choose_size(asked("4:32:4", "cost")).question.cluster.gpus,
            choose_size(asked("4:32:4", "step-time")).question.cluster.gpus);
}

TEST(ChooseSize, WhoStopsTheSearchOfTheChosenSizeHasItsPlanAlready) {
  const SizeChoice choice = choose_size(asked("4:32:4"));
  const Estimator estimator(choice.question);
  SearchWatch watch;
  watch.stop = true;
  const SearchResult result = search_chosen(estimator, choice, SearchOptions{.watch = &watch});
  EXPECT_TRUE(result.stopped);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(canonical(result.best->plan), canonical(choice.sizes->search.best->plan));
  EXPECT_TRUE(result.runners_up.empty());
}

TEST(ChooseSize, StoppedBeforeItBeginsHasNoPlan) {
  SearchWatch watch;
  watch.stop = true;
  const SizeChoice choice = choose_size(asked("4:32:4"), SearchOptions{.watch = &watch});
  EXPECT_TRUE(choice.stopped());
  EXPECT_EQ(choice.sizes->search.gpus, 0);
  EXPECT_EQ(choice.sizes->search.census.left, 8);
  EXPECT_TRUE(choice.sizes->search.only_bounded);
  EXPECT_TRUE(run_answer({}, choice.sizes, std::nullopt).undecided());
  const Estimator estimator(choice.question);
  const SearchResult result = search_chosen(estimator, choice, SearchOptions{.watch = &watch});
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.best);
}

TEST(FrontOf, IsOfTheOneSizeOrOfAll) {
  const ParetoFront one = front_of(asked("8")), all = front_of(asked("4:8:4"));
  ASSERT_FALSE(one.plans.empty());
  EXPECT_FALSE(one.stopped);
  EXPECT_EQ(one.plans.front().plan.gpus(), 8);
  EXPECT_EQ(all.plans.front().plan.gpus(), 4);
  EXPECT_EQ(all.plans.back().plan.gpus(), 8);
}

}  // namespace
}  // namespace shardplan
