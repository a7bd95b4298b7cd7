// An evaluator that keeps parts of the plans before gives what the estimator gives for each plan alone, bit
// for bit, whatever the order of plans.
#include "estimate/plan_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {
namespace {

Question asked(const char* model, const char* gpus, const char* framework) {
  QuestionSpec spec;
  spec.model = model;
  spec.gpu = "h100-sxm";
  spec.gpus = gpus;
  spec.framework = framework;
  return build_question(spec, catalog()).value();
}

/// Plans of every schedule, recomputation and offload that the question allows.
std::vector<Plan> plans_of(const Estimator& estimator) {
  std::vector<Plan> plans;
  const auto some = [&](const FixedAxes& fixed) {
    estimator.space().for_some(fixed, 11, [&](const Plan& p) { plans.push_back(p); });
  };
  some({});
  for (const Schedule schedule : {Schedule::kGpipe, Schedule::kZbH1, Schedule::kZbV, Schedule::kDualPipe}) {
    FixedAxes fixed;
    fixed.schedule = schedule;
    some(fixed);
  }
  for (const Recompute& recompute : {Recompute::block(1), Recompute::block(2), Recompute::uniform(2),
                                     Recompute::of_modules(static_cast<std::uint8_t>(Module::kLayerNorm))}) {
    FixedAxes fixed;
    fixed.recompute = recompute;
    some(fixed);
  }
  for (std::uint8_t offload = 1; offload < 1U << kOffloadCount; ++offload) {
    FixedAxes fixed;
    fixed.offload = offload;
    some(fixed);
  }
  FixedAxes fixed;
  fixed.shard_group = 4;
  some(fixed);
  return plans;
}

void expect_same(const Question& q) {
  const Estimator estimator(q);
  std::vector<Plan> plans = plans_of(estimator);
  ASSERT_GT(plans.size(), 200u);
  PlanEvaluator judge(estimator);
  const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
  for (int round = 0; round < 2; ++round) {
    for (const Plan& p : plans) {
      int stage = 0, own_stage = 0;
      const MemoryBreakdown<> memory = judge.fullest_memory(p, stage),
                              own = estimator.fullest_memory<double>(p, own_stage);
      ASSERT_EQ(stage, own_stage) << canonical(p);
      ASSERT_EQ(bits(memory.total().raw()), bits(own.total().raw())) << canonical(p);
      ASSERT_EQ(bits(judge.time(p).total().raw()), bits(estimator.time<double>(p).total().raw()))
          << canonical(p);
    }
    // As the search walks them, and in any other order.
    std::shuffle(plans.begin(), plans.end(), std::mt19937(7));
  }
}

TEST(PlanEvaluator, IsTheEstimatorForADenseModel) { expect_same(asked("llama3-70b", "128", "generic")); }
TEST(PlanEvaluator, IsTheEstimatorForExperts) { expect_same(asked("deepseek-v2-lite", "48", "megatron")); }
TEST(PlanEvaluator, IsTheEstimatorForAHybridModel) {
  expect_same(asked("nemotron3-nano", "32", "torchtitan"));
}
TEST(PlanEvaluator, IsTheEstimatorForOffload) { expect_same(asked("qwen3-30b-a3b", "32", "deepspeed")); }

TEST(PlanEvaluator, FindsTheFullestOfAllStages) {
  Question q = asked("deepseek-v2-lite", "32", "megatron");
  q.framework.engine.schedules = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                  Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
  const Estimator estimator(q);
  PlanEvaluator judge(estimator);
  std::size_t seen = 0;
  estimator.space().for_some({}, 7, [&](const Plan& p) {
    if (p.pp == 1) return;
    ++seen;
    int stage = 0;
    const Bytes<> fullest = judge.fullest_memory(p, stage).total();
    for (int s = 0; s < p.pp; ++s) {
      EXPECT_LE(estimator.stage_memory<double>(p, s).total(), fullest) << canonical(p) << " stage " << s;
    }
  });
  EXPECT_GT(seen, 100u);
}

TEST(PlanEvaluator, BoundsNoLessWhatHoldsNoLess) {
  Question q = asked("deepseek-v2-lite", "32", "megatron");
  q.whole_space = true;
  const Estimator estimator(q);
  PlanEvaluator judge(estimator);
  std::size_t compared = 0;
  const auto compare = [&](const LayoutPlans& plans, Plan plan) {
    std::vector<std::pair<std::vector<double>, double>> all;  // what each holds, and its bound
    for (const Recompute& recompute : plans.recomputes) {
      plan.recompute = recompute;
      judge.held_by_layers(plan, all.emplace_back().first);
      all.back().second = judge.least_memory_of_dealings(plan, 1).raw();
    }
    for (const auto& [held, bound] : all) {
      for (const auto& [more, other] : all) {
        if (!std::equal(held.begin(), held.end(), more.begin(), std::less_equal<>())) continue;
        EXPECT_LE(bound, other) << canonical(plan);
        ++compared;
      }
    }
  };
  for (const Plan& layout : estimator.space().layouts({})) {
    const LayoutPlans plans = estimator.space().plans_of(layout, {});
    if (plans.pipelines.empty() || !layout.rank_order.usual()) continue;
    judge.turn_to_layout(layout, plans.states);
    for (const Pipeline& pipeline : plans.pipelines.front()) compare(plans, pipeline.plan);
  }
  EXPECT_GT(compared, 10'000u);
}

}  // namespace
}  // namespace shardplan
