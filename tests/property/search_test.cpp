// What bounds exclude is not what was looked for: a search that skips finds the plans that a search of every
// plan finds.
#include "search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "asked_questions.h"
#include "estimate/plan_evaluator.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

struct EveryPlan {
  std::int64_t plans = 0, fit = 0;
  std::vector<Estimate> best;  // of each layout, best first
};

EveryPlan every_plan(const Estimator& estimator, const FixedAxes& fixed = {}) {
  EveryPlan every;
  PlanEvaluator judge(estimator);
  std::map<Plan, Estimate> best;
  estimator.space().for_each(fixed, [&](const Plan& plan) {
    ++every.plans;
    int stage = 0;
    Estimate e;
    e.plan = plan;
    e.usable = estimator.usable<double>();
    e.memory = judge.fullest_memory(plan, stage);
    if (estimator.broken_memory(plan, e.memory, e.usable)) return;
    ++every.fit;
    e.time = judge.time(plan);
    const auto [at, first] = best.try_emplace(with_degrees({}, plan), e);
    if (!first && better(e, at->second)) at->second = e;
  });
  for (const auto& [layout, e] : best) every.best.push_back(e);
  std::sort(every.best.begin(), every.best.end(),
            [](const Estimate& a, const Estimate& b) { return better(a, b); });
  return every;
}

/// The best plans that were found, and no others.
void expect_first(const EveryPlan& every, const SearchResult& found, std::size_t wanted,
                  const std::string& what) {
  ASSERT_EQ(found.best.has_value(), !every.best.empty()) << what;
  if (!found.best) return;
  EXPECT_EQ(canonical(found.best->plan), canonical(every.best.front().plan)) << what;
  ASSERT_EQ(found.runners_up.size() + 1, std::min(wanted, every.best.size())) << what;
  for (std::size_t i = 0; i < found.runners_up.size(); ++i)
    EXPECT_EQ(canonical(found.runners_up[i].plan), canonical(every.best[i + 1].plan)) << what;
}

TEST(Search, FindsWhatASearchOfEveryPlanFinds) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    const EveryPlan every = every_plan(estimator);
    constexpr std::size_t kAll = 100'000;
    for (const std::size_t runners_up : {std::size_t{0}, std::size_t{3}, kAll}) {
      const SearchResult found = search(estimator, {}, SearchOptions{.runners_up = runners_up});
      expect_first(every, found, runners_up + 1, said(asked));
      EXPECT_EQ(found.census.considered, every.plans) << said(asked);
      EXPECT_LE(found.census.feasible, every.fit) << said(asked);
      const std::int64_t rejected =
          std::accumulate(found.census.rejected.begin(), found.census.rejected.end(), std::int64_t{0});
      EXPECT_EQ(found.census.judged(), found.census.feasible + rejected) << said(asked);
    }
    if (every.best.empty()) continue;
    const SearchResult near = fastest(estimator, {}, every.best.back().plan);
    EXPECT_EQ(near.best->plan, every.best.front().plan) << said(asked);
  }
}

/// Questions that nobody chose.
Asked drawn(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return all.begin()[random() % all.size()];
  };
  Asked asked{};
  const bool dense = random() % 2 == 0;
  asked.model = dense ? one_of({"llama3-8b", "llama3-70b", "gpt3-175b"})
                      : one_of({"deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b"});
  asked.framework = dense ? one_of({"generic", "megatron", "torchtitan", "deepspeed", "fsdp"})
                          : one_of({"generic", "megatron"});
  asked.gpu = one_of({"h100-sxm", "a100-40gb-sxm", "a100-80gb-sxm", "l40s", "h800"});
  asked.gpus = one_of({"1", "2", "3", "4", "6", "8", "10", "12", "16", "24", "32", "64"});
  asked.sequence = one_of({"1024", "2048", "4096", "8192"});
  asked.batch = one_of({"4", "8", "12", "24", "32", "60", "64"});
  asked.layers = random() % 3 == 0 ? 0 : 2 + random() % 6;
  return asked;
}

TEST(Search, FindsTheBestOfQuestionsThatNobodyChose) {
  std::mt19937 random(41);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same on every run
  int asked_of_all = 0, with_a_plan = 0;
  for (int i = 0; i < 120; ++i) {
    const Asked asked = drawn(random);
    const Question q = question(asked);
    const Estimator estimator(q);
    const std::int64_t plans = estimator.space().count({});
    if (plans == 0 || plans > 150'000) continue;
    const EveryPlan every = every_plan(estimator);
    const std::string what = said(asked) + " " + std::to_string(i);
    const SearchResult found = search(estimator, {});
    expect_first(every, found, 4, what);
    EXPECT_EQ(found.census.considered, every.plans) << what;
    ++asked_of_all;
    if (found.best) ++with_a_plan;
  }
  EXPECT_TRUE(asked_of_all >= 30 && with_a_plan >= 15) << asked_of_all << " asked, " << with_a_plan << " fit";
}

TEST(Search, TheBestOfSeveralSchedulesIsTheBestOfEach) {
  for (const Asked& asked : kAsked) {
    if (asked.layers == 0) continue;
    Question q = question(asked);
    for (const std::vector<Schedule>& schedules :
         {std::vector{Schedule::k1F1B, Schedule::kZbV}, std::vector{Schedule::kZbH1, Schedule::kGpipe},
          std::vector<Schedule>{kSchedules.begin(), kSchedules.end()}}) {
      q.framework.engine.schedules = schedules;
      const Estimator estimator(q);
      std::optional<Estimate> best;
      std::int64_t plans = 0;
      for (const Schedule schedule : schedules) {
        FixedAxes fixed;
        fixed.schedule = schedule;
        const EveryPlan every = every_plan(estimator, fixed);
        plans += every.plans;
        if (!every.best.empty() && (!best || better(every.best.front(), *best))) best = every.best.front();
      }
      const SearchResult found = search(estimator, {});
      EXPECT_EQ(found.census.considered, plans) << said(asked);
      ASSERT_EQ(found.best.has_value(), best.has_value()) << said(asked);
      if (best) {
        EXPECT_EQ(canonical(found.best->plan), canonical(best->plan)) << said(asked);
      }
    }
  }
}

TEST(Search, FindsTheBestPlanWithinBounds) {
  for (const std::size_t i : {0U, 4U, 9U, 13U}) {
    const Question q = question(kAsked[i]);
    const Estimator estimator(q);
    for (const FixedAxes& fixed : some_bounds()) {
      const EveryPlan every = every_plan(estimator, fixed);
      const SearchResult found = search(estimator, fixed, SearchOptions{.runners_up = 3});
      expect_first(every, found, 4, said(kAsked[i]));
      EXPECT_EQ(found.census.considered, every.plans) << said(kAsked[i]);
    }
  }
}

/// Of two stages each has an end of the pipeline: no rank holds chunks of the middle alone.
TEST(Search, FindsTheBestPlanOfTwoStagesWithManyLayers) {
  FixedAxes fixed;
  fixed.pp = 2;
  fixed.schedule = Schedule::kInterleaved;
  fixed.rank_order = RankOrder{};
  for (const Asked& asked : {Asked{"llama3-8b", "h100-sxm", "4", "4096", "8", "generic", 12},
                             Asked{"llama3-8b", "a100-80gb-sxm", "2", "16384", "4", "generic", 22},
                             Asked{"llama3-70b", "l40s", "8", "16384", "4", "megatron", 16},
                             Asked{"gpt3-175b", "a100-80gb-sxm", "8", "16384", "8", "generic", 18},
                             Asked{"llama3-8b", "a100-40gb-sxm", "8", "16384", "24", "megatron", 19}}) {
    Question q = question(asked);
    q.framework.engine.recomputed_modules.reset();
    const Estimator estimator(q);
    const EveryPlan every = every_plan(estimator, fixed);
    constexpr std::size_t kAll = 100'000;
    expect_first(every, search(estimator, fixed, SearchOptions{.runners_up = kAll}), kAll, said(asked));
    EXPECT_FALSE(every.best.empty()) << said(asked);
  }
}

Plan some_plan(const Question& q, const FixedAxes& fixed, std::mt19937& random) {
  std::vector<Plan> some;
  Estimator(q).space().for_some(fixed, 5, [&](const Plan& plan) { some.push_back(plan); });
  return some[random() % some.size()];
}

/// Of the device's memory: for the plan, and hardly more.
void leave_room_for(const Plan& plan, Question& q) {
  const Estimator estimator(q);
  int stage = 0;
  const double spare =
      estimator.usable<double>().raw() - estimator.fullest_memory<double>(plan, stage).total().raw() * 1.0001;
  Sourced<Bytes<>>& memory = q.cluster.device.memory_reported;
  memory.value = memory.value - bytes(spare / (1 - q.cluster.reserve_share.value.raw()));
}

/// Few stages of many layers can be dealt in many ways, of which most fit only with some layers run again:
/// what bounds of dealings are for.
TEST(Search, FindsTheBestOfDrawnPipelinesOfManyLayers) {
  std::mt19937 random(13);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same on every run
  const std::array schedules{Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                             Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
  int asked_of_all = 0, with_a_plan = 0;
  for (int i = 0; i < 300; ++i) {
    Asked asked = drawn(random);
    asked.layers = 8 + random() % 24;
    asked.sequence = random() % 2 == 0 ? "4096" : "16384";
    FixedAxes fixed;
    fixed.pp = 2 + static_cast<std::int32_t>(random() % 3);
    fixed.schedule = schedules[random() % schedules.size()];
    fixed.rank_order = RankOrder{};
    Question q = question(asked);
    if (i % 4 != 0) q.framework.engine.recomputed_modules.reset();
    const auto some = 1 + static_cast<std::int32_t>(random() % 6);
    if (i % 3 == 0) fixed.recompute = Recompute::block(some);
    if (i % 3 == 1) fixed.recompute = Recompute::uniform(1 + some);
    const std::int64_t plans = Estimator(q).space().count(fixed);
    if (plans == 0 || plans > 60'000) continue;
    leave_room_for(some_plan(q, fixed, random), q);
    const Estimator estimator(q);
    const EveryPlan every = every_plan(estimator, fixed);
    const std::string what = said(asked) + " " + std::to_string(i);
    const SearchResult found = search(estimator, fixed);
    expect_first(every, found, 4, what);
    EXPECT_EQ(found.census.considered, every.plans) << what;
    ++asked_of_all;
    if (found.best) ++with_a_plan;
  }
  EXPECT_TRUE(asked_of_all >= 30 && with_a_plan >= 15) << asked_of_all << " asked, " << with_a_plan << " fit";
}

TEST(Search, FindsTheBestPlanWhereTheUsualOrderOfTheRanksIsForbidden) {
  for (const std::size_t i : {9U, 10U, 12U}) {
    Question q = question(kAsked[i]);
    std::vector<RankOrder>& orders = q.framework.engine.rank_orders;
    orders.erase(orders.begin());
    const Estimator estimator(q);
    const EveryPlan every = every_plan(estimator);
    const SearchResult found = search(estimator, {});
    expect_first(every, found, 4, said(kAsked[i]));
    EXPECT_EQ(found.census.considered, every.plans) << said(kAsked[i]);
    for (const Estimate& e : every.best) EXPECT_FALSE(e.plan.rank_order.usual()) << canonical(e.plan);
  }
}

TEST(Search, IsTheSameOnAnyNumberOfThreads) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    const SearchResult one = search(estimator, {}, SearchOptions{.threads = 1});
    for (const unsigned threads : {2U, 3U, 8U}) {
      const SearchResult several = search(estimator, {}, SearchOptions{.threads = threads});
      ASSERT_EQ(several.best.has_value(), one.best.has_value());
      if (one.best) {
        EXPECT_EQ(several.best->plan, one.best->plan) << said(asked);
        EXPECT_EQ(several.best->step, one.best->step) << said(asked);
      }
      ASSERT_EQ(several.runners_up.size(), one.runners_up.size());
      for (std::size_t i = 0; i < one.runners_up.size(); ++i)
        EXPECT_EQ(several.runners_up[i].plan, one.runners_up[i].plan) << said(asked);
      EXPECT_EQ(several.census.slower, one.census.slower) << said(asked);
      EXPECT_EQ(several.census.larger, one.census.larger) << said(asked);
      EXPECT_EQ(several.census.alike, one.census.alike) << said(asked);
      EXPECT_EQ(several.census.rejected, one.census.rejected) << said(asked);
      ASSERT_EQ(several.census.nearest_miss.has_value(), one.census.nearest_miss.has_value());
      if (one.census.nearest_miss) {
        EXPECT_EQ(several.census.nearest_miss->plan, one.census.nearest_miss->plan) << said(asked);
      }
    }
  }
}

TEST(Search, StopsWhenItIsTold) {
  const Question q = question(kAsked[1]);
  const Estimator estimator(q);
  SearchWatch watch;
  watch.stop = true;
  const SearchResult stopped = search(estimator, {}, SearchOptions{.watch = &watch});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_FALSE(stopped.best);
  SearchWatch seen;
  const SearchResult whole = search(estimator, {}, SearchOptions{.watch = &seen});
  EXPECT_FALSE(whole.stopped);
  EXPECT_GT(seen.searched.load(), 0);
  EXPECT_LE(seen.searched.load(), seen.layouts.load());
}

TEST(Search, NamesTheNearestMissOfEveryPlan) {
  for (const Asked& asked : {Asked{"llama3-70b", "h100-sxm", "8", "8192", "16", "generic"},
                             Asked{"gpt3-175b", "a100-40gb-sxm", "32", "2048", "32", "megatron"},
                             Asked{"gpt3-175b", "a100-40gb-sxm", "2", "2048", "4", "megatron", 8}}) {
    const Question q = question(asked);
    const Estimator estimator(q);
    PlanEvaluator judge(estimator);
    std::optional<Bytes<>> least;
    estimator.space().for_each({}, [&](const Plan& plan) {
      int stage = 0;
      const Bytes<> total = judge.fullest_memory(plan, stage).total();
      if (!least || total < *least) least = total;
    });
    const Census census = search(estimator, {}).census;
    ASSERT_EQ(census.feasible, 0) << said(asked);
    ASSERT_TRUE(census.nearest_miss) << said(asked);
    EXPECT_EQ(census.nearest_miss->memory.total(), *least) << said(asked);
    EXPECT_GT(census.larger, 0) << said(asked);
  }
}

std::size_t at_state(const std::vector<Plan>& states, const Plan& plan) {
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const Plan& state) { return with_state(plan, state) == plan; });
  return static_cast<std::size_t>(found - states.begin());
}

/// Layers of the rank that has the head.
std::size_t layers_of_last(const Question& q, const Plan& plan) {
  const std::int64_t rank = plan.schedule == Schedule::kZbV ? 0 : plan.pp - 1;
  std::int64_t sum = 0;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const auto all = static_cast<std::int64_t>(q.model.layers.size());
    sum += chunk_layers(all, plan, rank_chunk(plan, rank, i)).count();
  }
  return static_cast<std::size_t>(sum);
}

TEST(Search, NoBoundIsAboveAPlanItSpeaksFor) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    PlanEvaluator judge(estimator);
    std::vector<double> held, of_layers;
    constexpr double kRounding = 1 + 1e-9;
    for (const Plan& layout : estimator.space().layouts({})) {
      const LayoutPlans plans = estimator.space().plans_of(layout, {});
      judge.turn_to_layout(layout, plans.states);
      constexpr std::int64_t kOfEach = 400;
      const std::int64_t all = plans.count(), some = std::min(all, kOfEach);
      for (std::int64_t i = 0; i < some; ++i) {
        const Plan plan = plans.plan(i * all / some);
        const std::size_t state = at_state(plans.states, plan);
        ASSERT_LT(state, plans.states.size());
        int stage = 0;
        const double step = judge.time(plan).total().raw() * kRounding,
                     total = judge.fullest_memory(plan, stage).total().raw() * kRounding;
        ASSERT_LE(judge.least_step_of_micro_batch(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step_of_layers(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step(plan, state).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_memory(plan).raw(), total) << canonical(plan);
        ASSERT_LE(judge.least_memory(plan, state).raw(), total) << canonical(plan);
        ASSERT_LE(judge.least_memory_of_part(plan).raw(), total) << canonical(plan);
        const bool in_part = plan.recompute.kind == Recompute::Kind::kBlock;
        if (!in_part) {
          judge.held_by_layers(plan, held);
          ASSERT_LE(judge.least_memory_of_layers(plan, held).raw(), total) << canonical(plan);
          const std::int32_t group =
              plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
          ASSERT_LE(judge.least_memory_of_dealings(plan, group).raw(), total) << canonical(plan);
        }
        const double layers = judge.least_step_of_layers(plan).raw();
        const double of_dealings = judge.least_replicas_of_dealings(plan).raw();
        ASSERT_LE(judge.least_step_of_kernels(plan).raw(), judge.least_step_of_micro_batch(plan).raw());
        ASSERT_LE(layers + judge.least_replicas(plan).raw(), step) << canonical(plan);
        const double sends = judge.least_sends(plan).raw();
        ASSERT_LE(layers * PlanEvaluator::least_turns(plan) + sends + of_dealings, step) << canonical(plan);
        judge.least_layers(plan, of_layers);
        const double last = of_layers[layers_of_last(q, plan)] + judge.least_head(plan).raw(),
                     passes = plan.grad_accumulation / (plan.schedule == Schedule::kDualPipe ? 2.0 : 1.0);
        ASSERT_LE(last * passes + sends + judge.least_replicas(plan).raw(), step) << canonical(plan);
        Plan more = plan;
        const auto all_layers = static_cast<std::int32_t>(q.model.layers.size());
        more.recompute = plans.layers_in_groups ? Recompute::uniform(all_layers) : Recompute::kFull;
        ASSERT_LE(judge.least_memory_of_dealings(more, 1).raw(), total) << canonical(plan);
        more.recompute = Recompute::kFull;
        if (plan.recompute.kind != Recompute::Kind::kUniform) {
          ASSERT_LE(judge.least_memory_of_dealings(more, 1).raw(), total) << canonical(plan);
        }
        if (!in_part) continue;
        // In a memory that the plan just fills, it may run no fewer layers again than it does.
        std::int64_t again = 0;
        for (std::int64_t c = 0; c < all_chunks(plan); ++c)
          again += recomputed_layers(plan, chunk_layers(all_layers, plan, c)).count();
        more.recompute = Recompute::kNone;
        ASSERT_LE(judge.least_layers_again(more, bytes(total)), static_cast<double>(again) + 1e-6)
            << canonical(plan);
        more.recompute = Recompute::block(plan.recompute.layers + 1);
        ASSERT_LE(judge.least_memory_of_part(more).raw(), total) << canonical(plan);
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
