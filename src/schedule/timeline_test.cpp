#include "schedule/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <tuple>

#include "cost/activations_paper.h"
#include "cost/pipeline.h"
#include "cost/schedules.h"
#include "schedule/test_pipelines.h"

namespace shardplan {
namespace {

constexpr double kExact = 1e-12;

/// Idle time of the longest rank beyond its work, in milliseconds.
double bubble_ms(const Plan& plan, const PipelineTimes& times) {
  const Timeline line = simulate(plan, times);
  return (line.span.raw() - busiest_s(line)) * 1e3;
}
double bubble_ms(const Plan& plan, double f, double b, double w) {
  return bubble_ms(plan, equal_chunks(plan, f, b, w));
}

double closed_ms(const Plan& plan, double f, double b, double w) {
  const Ratio<> p = ratio(plan.pp), m = ratio(plan.grad_accumulation);
  const auto ms = [&](double chunk) { return milliseconds(chunk * chunks_of_rank(plan)); };
  const Seconds<> F = ms(f), B = ms(b), W = ms(w);
  switch (plan.schedule) {
    case Schedule::kZbH1:
      return call<ZeroBubbleH1Bubble>(ZeroBubbleH1Bubble::In<double>{p, m, F, B, W}).raw() * 1e3;
    case Schedule::kZbV:
      return call<ZeroBubbleVBubble>(ZeroBubbleVBubble::In<double>{p, m, F, B, W}).raw() * 1e3;
    case Schedule::kDualPipe:  // half of the micro-batches pass each of a rank's two stages
      return call<DualPipeBubble>(
                 DualPipeBubble::In<double>{p, milliseconds(f), milliseconds(b), milliseconds(w)})
                 .raw() *
             1e3;
    default:
      return call<PipelineBubble>(PipelineBubble::In<double>{p, ratio(plan.interleave), F + B + W}).raw() *
             1e3;
  }
}

TEST(Timeline, WorkedByHand) {
  // Two stages, F = 1, B = 2: the second starts at 1, the first waits for B0 until 4.
  const Plan plan = pipeline(Schedule::k1F1B, 2, 2);
  const Timeline line = simulate(plan, equal_chunks(plan, 1, 1, 1));
  EXPECT_NEAR(line.ranks[1].start().raw(), 0.001, kExact);
  EXPECT_NEAR(line.ranks[0].events[2].start.raw(), 0.004, kExact);
  EXPECT_NEAR(line.span.raw(), 0.009, kExact);
  EXPECT_NEAR(line.bubble(0).raw(), 0.003, kExact);
}

TEST(Timeline, SendsDelayAndMayBlock) {
  const Plan plan = pipeline(Schedule::k1F1B, 2, 1);
  PipelineTimes times = equal_chunks(plan, 1, 1, 1);
  times.send = milliseconds(0.5);
  EXPECT_NEAR(simulate(plan, times).span.raw(), 0.007, kExact);  // there and back
  const Plan four = pipeline(Schedule::kGpipe, 2, 4);
  PipelineTimes blocking = equal_chunks(four, 1, 1, 1);
  blocking.send = milliseconds(0.5);
  const double hidden = simulate(four, blocking).span.raw();
  blocking.send_blocks = true;
  EXPECT_NEAR(hidden, 0.016, kExact);                               // 15 ms and one way there and back
  EXPECT_NEAR(simulate(four, blocking).span.raw(), 0.019, kExact);  // each of 4 forwards, and of 4 backwards
}

// narayanan2021 sec. 2.2, zero-bubble table 2 and README, DualPipe's README: bubbles at F = B = W.
TEST(Timeline, BubblesOfThePapers) {
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::kGpipe, 4, 8), 1, 1, 1), 9, 1e-9);
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::k1F1B, 4, 8), 1, 1, 1), 9, 1e-9);
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::kInterleaved, 4, 8, 2), 0.5, 0.5, 0.5), 4.5, 1e-9);
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::kZbH1, 4, 8), 1, 1, 1), 3, 1e-9);
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::kZbV, 4, 8), 0.5, 0.5, 0.5), 0, 1e-9);
  EXPECT_NEAR(bubble_ms(pipeline(Schedule::kDualPipe, 8, 20), 1, 1, 1), 6, 1e-9);
}

TEST(Timeline, EqualsTheClosedFormsOnEqualStages) {
  RandomPipelines random(2);
  for (const Schedule schedule :
       {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved, Schedule::kZbH1}) {
    for (int i = 0; i < 150; ++i) {
      const Plan plan = random.plan(schedule);
      const double f = random.uniform(0.3, 2), b = random.uniform(0.3, 2), w = random.uniform(0.3, 2);
      EXPECT_NEAR(bubble_ms(plan, f, b, w), closed_ms(plan, f, b, w), 1e-9)
          << name(schedule) << " " << canonical(plan) << " F " << f << " B " << b << " W " << w;
    }
  }
}

TEST(Timeline, ZeroBubbleVClosedForm) {
  RandomPipelines random(3);
  for (int i = 0; i < 300; ++i) {
    const std::int32_t p = random.whole(2, 8);
    const Plan plan = pipeline(Schedule::kZbV, p, random.whole(p, 5 * p));
    const double w = random.uniform(0.4, 1), f = random.uniform(w, 1.3), b = random.uniform(f, 2.2);
    EXPECT_NEAR(bubble_ms(plan, f, b, w), closed_ms(plan, f, b, w), 1e-9) << canonical(plan);
    const double any_b = random.uniform(0.3, 2), any_w = random.uniform(0.3, 2);
    EXPECT_GE(bubble_ms(plan, f, any_b, any_w), closed_ms(plan, f, any_b, any_w) - 1e-9) << canonical(plan);
  }
}

TEST(Timeline, DualPipeClosedForm) {
  RandomPipelines random(4);
  for (int i = 0; i < 200; ++i) {
    const Plan plan = random.plan(Schedule::kDualPipe);
    const double w = random.uniform(0.4, 1), f = random.uniform(w, 1.3), b = random.uniform(f, 2.2);
    EXPECT_NEAR(bubble_ms(plan, f, f, f), closed_ms(plan, f, f, f), 1e-9) << canonical(plan);
    const double simulated = bubble_ms(plan, f, b, w), closed = closed_ms(plan, f, b, w);
    EXPECT_LE(simulated, closed + 1e-9) << canonical(plan);
    EXPECT_GE(simulated, closed - f - 1e-9) << canonical(plan);
  }
}

/// What the memory account takes for a rank's live chunks, over all that it holds.
double counted_live(const Plan& plan, int rank) {
  const Ratio<> p = ratio(plan.pp), m = ratio(plan.grad_accumulation), r = ratio(rank);
  switch (plan.schedule) {
    case Schedule::kGpipe:
      return plan.grad_accumulation;
    case Schedule::kZbH1:
      return call<InFlightZeroBubble>(InFlightZeroBubble::In<double>{p, m}).raw();
    case Schedule::kZbV:
    case Schedule::kDualPipe: {
      double sum = 0;
      for (int i = 0; i < 2; ++i) {
        const Ratio<> chunk = ratio(static_cast<double>(rank_chunk(plan, rank, i)));
        sum += plan.schedule == Schedule::kZbV
                   ? call<InFlightV>(InFlightV::In<double>{p, chunk, m}).raw()
                   : call<InFlightDualPipe>(InFlightDualPipe::In<double>{p, chunk, m}).raw();
      }
      return sum;
    }
    default:
      return call<InFlight>(InFlight::In<double>{p, r, ratio(plan.interleave), p, m}).raw();
  }
}

TEST(Timeline, KeepsTheMicroBatchesThatTheMemoryAccountCounts) {
  RandomPipelines random(5);
  for (const Schedule schedule : kAllSchedules) {
    for (int i = 0; i < 60; ++i) {
      const Plan plan = random.plan(schedule);
      const Timeline line = simulate(plan, random.any_times(plan));
      for (int rank = 0; rank < plan.pp; ++rank) {
        EXPECT_EQ(line.ranks[static_cast<std::size_t>(rank)].live, counted_live(plan, rank))
            << name(schedule) << " " << canonical(plan) << " rank " << rank;
      }
    }
  }
}

using At = std::tuple<bool, std::int64_t, std::int32_t>;  // gradient, chunk, micro-batch

/// Ends of all handovers.
std::map<At, double> ends(const Timeline& line) {
  std::map<At, double> found;
  for (const RankLine& rank : line.ranks) {
    for (const Event& e : rank.events) {
      if (e.operation.pass == Pass::kWeightGradient) continue;
      found[{e.operation.pass != Pass::kForward, e.chunk, e.operation.micro_batch}] = e.end.raw();
    }
  }
  return found;
}

TEST(Timeline, RanksDoOneThingAtATimeAndWaitForTheirInputs) {
  RandomPipelines random(6);
  for (const Schedule schedule : kAllSchedules) {
    for (int i = 0; i < 40; ++i) {
      const Plan plan = random.plan(schedule);
      PipelineTimes times = random.any_times(plan);
      times.send = milliseconds(random.uniform(0, 0.3));
      times.send_blocks = random.whole(0, 1) == 1;
      const Timeline line = simulate(plan, times);
      const auto done = ends(line);
      const std::int64_t last = all_chunks(plan) - 1;
      for (const RankLine& rank : line.ranks) {
        double free = 0;
        for (const Event& e : rank.events) {
          ASSERT_GE(e.start.raw(), free) << canonical(plan);
          free = e.end.raw();
          const std::int32_t k = e.operation.micro_batch;
          const bool forward = e.operation.pass == Pass::kForward;
          if (forward && e.chunk > 0) {
            ASSERT_GE(e.start.raw(), done.at({false, e.chunk - 1, k}));
          }
          if (!forward) {
            ASSERT_GE(e.start.raw(), done.at({false, e.chunk, k}));
          }
          if (!forward && e.chunk < last) {
            ASSERT_GE(e.start.raw(), done.at({true, e.chunk + 1, k}));
          }
        }
      }
    }
  }
}

// No step is shorter than the busiest rank's work with what must come before its first pass and after its
// last; none is longer than all passes one after the other.
TEST(Timeline, UnevenStagesStayWithinTheirBounds) {
  RandomPipelines random(7);
  for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved}) {
    for (int i = 0; i < 100; ++i) {
      const Plan plan = random.plan(schedule);
      const PipelineTimes times = random.any_times(plan);
      const Timeline line = simulate(plan, times);
      double before = 0, all = 0;
      for (std::size_t r = 0; r < line.ranks.size(); ++r) {
        EXPECT_GE(line.span.raw(), before + line.ranks[r].busy.raw() - kExact) << canonical(plan);
        before += times.chunks[r].total().raw();
        all += line.ranks[r].busy.raw();
      }
      EXPECT_LE(line.span.raw(), all + kExact);
    }
  }
}

TEST(Timeline, OnlySplitBackwardPassesLeaveAnEarlyRankFree) {
  RandomPipelines random(8);
  for (const Schedule schedule : kAllSchedules) {
    for (int i = 0; i < 40; ++i) {
      const Plan plan = random.plan(schedule);
      const Timeline line = simulate(plan, random.any_times(plan));
      EXPECT_LE(line.span.raw(), line.makespan.raw());
      if (!splits_gradients(schedule)) {
        EXPECT_NEAR(line.span.raw(), line.makespan.raw(), kExact);
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
