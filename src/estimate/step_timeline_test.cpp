#include "estimate/step_timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "estimate/estimator.h"
#include "estimate/test_questions.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

constexpr Schedule kSchedules[] = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                   Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};

Plan plan_of(Schedule schedule) {
  Plan p;
  p.dp = 2;
  p.tp = 4;
  p.pp = 4;
  p.sequence_parallel = true;
  p.zero_stage = 1;
  p.grad_accumulation = 16;
  p.interleave = schedule == Schedule::kInterleaved ? 2 : 1;
  p.schedule = schedule;
  return p;
}

/// The rank with most work computes as long in the simulation as the closed forms say it does.
TEST(StepTimeline, WorkIsTheEstimates) {
  const Question q = llama3_8b_question(4096, 32);
  const Estimator estimator(q);
  for (const Schedule schedule : kSchedules) {
    const Plan p = plan_of(schedule);
    const TimeBreakdown<> time = estimator.time<double>(p);
    Seconds<> average;
    for (const TimeTerm term :
         {TimeTerm::kGemm, TimeTerm::kAttention, TimeTerm::kMemoryBound, TimeTerm::kLogits,
          TimeTerm::kRecompute, TimeTerm::kLaunch, TimeTerm::kTensor}) {
      average += time[term].exposed();
    }
    const StepTimeline line = estimator.step_timeline(p);
    Seconds<> busy;
    for (const RankLine& rank : line.pipeline.ranks) busy += rank.busy;
    EXPECT_NEAR(busy.raw() / p.pp / average.raw(), 1, 1e-9) << name(schedule);
    EXPECT_EQ(line.estimated, time.total());
  }
}

TEST(StepTimeline, IsNearTheClosedForms) {
  const Question q = llama3_8b_question(4096, 32);
  const Estimator estimator(q);
  for (const Schedule schedule : kSchedules) {
    const StepTimeline line = estimator.step_timeline(plan_of(schedule));
    EXPECT_LT(std::fabs(line.difference()), 0.08) << name(schedule);
  }
}

TEST(StepTimeline, WithoutAPipelineItIsTheEstimate) {
  const Question q = llama3_8b_question(4096, 8);
  const Estimator estimator(q);
  Plan p = plan_of(Schedule::k1F1B);
  p.pp = 1;
  EXPECT_NEAR(estimator.step_timeline(p).difference(), 0, 1e-9);
}

TEST(StepTimeline, RecomputationIsPartOfTheBackwardPass) {
  const Question q = llama3_8b_question(4096, 32);
  const Estimator estimator(q);
  Plan p = plan_of(Schedule::k1F1B);
  const Seconds<> kept = estimator.step_timeline(p).pipeline.ranks[0].busy;
  p.recompute = Recompute::block(2);  // 2 of a stage's 8 layers
  const StepTimeline line = estimator.step_timeline(p);
  Seconds<> again;
  line.for_each([&](const StepEvent& e) {
    if (e.rank == 0 && e.work == StepWork::kRecompute) again += e.end - e.start;
  });
  EXPECT_GT(again.raw(), 0);
  EXPECT_NEAR((line.pipeline.ranks[0].busy - kept).raw() / again.raw(), 1, 1e-9);
}

TEST(StepTimeline, StreamsDoOneThingAtATime) {
  Question q = llama3_8b_question(4096, 64);
  for (Layer& layer : q.model.layers) layer.mlp = MoeMlp{.experts = 8, .top_k = 2, .width = 4096};
  const Estimator estimator(q);
  for (const Schedule schedule : kSchedules) {
    Plan p = plan_of(schedule);
    p.cp = 2;
    p.ep = 2;
    const StepTimeline line = estimator.step_timeline(p);
    std::map<std::pair<int, Stream>, Seconds<>> free;
    std::map<Stream, int> seen;
    line.for_each([&](const StepEvent& e) {
      EXPECT_LE(e.start, e.end);
      ++seen[e.stream];
      if (e.stream == Stream::kPipeline) return;  // sends of a pair that ends together leave together
      Seconds<>& at = free[{e.rank, e.stream}];
      EXPECT_GE(e.start.raw(), at.raw() - 1e-12) << name(schedule) << " " << name(e.stream);
      at = e.end;
    });
    EXPECT_EQ(seen.size(), kStreamCount) << name(schedule);
  }
}

TEST(StepTimeline, EventsNameChunksThatTheRankHolds) {
  const Question q = llama3_8b_question(4096, 32);
  const Estimator estimator(q);
  const Plan p = plan_of(Schedule::kZbV);
  int events = 0;
  estimator.step_timeline(p).for_each([&](const StepEvent& e) {
    if (e.chunk < 0) return;
    ++events;
    EXPECT_TRUE(e.chunk == rank_chunk(p, e.rank, 0) || e.chunk == rank_chunk(p, e.rank, 1));
    EXPECT_LT(e.micro_batch, p.grad_accumulation);
  });
  EXPECT_GE(events, 3 * 2 * p.pp * p.grad_accumulation);
}

}  // namespace
}  // namespace shardplan
