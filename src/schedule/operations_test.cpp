#include "schedule/operations.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "schedule/test_pipelines.h"

namespace shardplan {
namespace {

std::string list(const Plan& plan, int rank) {
  std::string text;
  for (const Operation& o : operations_of(plan, rank)) {
    text += (text.empty() ? "" : " ") + spelled(o, chunks_of_rank(plan)) + (o.joined ? "&" : "");
  }
  return text;
}

TEST(Operations, OneForwardOneBackward) {
  const Plan plan = pipeline(Schedule::k1F1B, 4, 4);
  EXPECT_EQ(list(plan, 0), "F0 F1 F2 F3 B0 B1 B2 B3");
  EXPECT_EQ(list(plan, 2), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(list(plan, 3), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(list(pipeline(Schedule::k1F1B, 4, 2), 1), "F0 F1 B0 B1");
}

TEST(Operations, Gpipe) { EXPECT_EQ(list(pipeline(Schedule::kGpipe, 4, 3), 2), "F0 F1 F2 B0 B1 B2"); }

// narayanan2021 figure 4, devices 1 and 4: (p - r - 1) 2 + (v - 1) p forwards to begin with.
TEST(Operations, InterleavedAsInTheFigure) {
  const Plan plan = pipeline(Schedule::kInterleaved, 4, 8, 2);
  EXPECT_EQ(list(plan, 0),
            "F0a F1a F2a F3a F0b F1b F2b F3b F4a F5a F6a B0b F7a B1b F4b B2b F5b B3b F6b B0a F7b B1a "
            "B2a B3a B4b B5b B6b B7b B4a B5a B6a B7a");
  EXPECT_EQ(list(plan, 3).substr(0, 39), "F0a F1a F2a F3a F0b B0b F1b B1b F2b B2b");
}

// zero-bubble figure 2, below: every rank has as many micro-batches in flight as the first.
TEST(Operations, ZeroBubbleH1KeepsWeightGradientsBack) {
  const Plan plan = pipeline(Schedule::kZbH1, 4, 5);
  EXPECT_EQ(list(plan, 0), "F0 F1 F2 F3 I0 W0 F4 I1 W1 I2 W2 I3 W3 I4 W4");
  EXPECT_EQ(list(plan, 3), "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4");
}

TEST(Operations, ZeroBubbleV) {
  const Plan plan = pipeline(Schedule::kZbV, 2, 4);
  EXPECT_EQ(
      list(plan, 0),
      "F0a F1a F2a F0b I0b W0b F1b I1b W1b F3a I0a W0a F2b I2b W2b I1a W1a F3b I3b W3b I2a W2a I3a W3a");
  EXPECT_EQ(
      list(plan, 1),
      "F0a F0b F1a F1b I0b W0b F2a I0a W0a F2b I1b W1b F3a I1a W1a F3b I2b W2b I2a I3b I3a W2a W3b W3a");
}

// The example of DualPipe's README: 8 ranks, 20 micro-batches, 10 from each end.
TEST(Operations, DualPipeAsInTheReadme) {
  const Plan plan = pipeline(Schedule::kDualPipe, 8, 20);
  EXPECT_EQ(
      list(plan, 0).substr(0, 102),
      "F0a F1a F2a F3a F4a F5a F6a F10b I10b W10b F11b I11b W11b F12b I12b W12b F13b F7a& B13b F14b& B0a "
      "F8a&");
  // The last rank mirrors the first.
  std::string mirrored = list(plan, 7);
  EXPECT_EQ(mirrored.substr(0, 27), "F10b F11b F12b F13b F14b F1");
  // A middle rank begins with a pair that does not overlap.
  EXPECT_NE(list(plan, 3).find("F3a F13b F4a B10b F14b& B0a"), std::string::npos) << list(plan, 3);
}

TEST(Operations, EveryMicroBatchDoesEveryPassOnce) {
  RandomPipelines random(1);
  for (const Schedule schedule : kAllSchedules) {
    for (int i = 0; i < 60; ++i) {
      const Plan plan = random.plan(schedule);
      std::map<std::tuple<std::int64_t, std::int32_t>, int> forwards, inputs,
          weights;  // by chunk, micro-batch
      for (int rank = 0; rank < plan.pp; ++rank) {
        for (const Operation& o : operations_of(plan, rank)) {
          const auto at = std::tuple(rank_chunk(plan, rank, o.piece), o.micro_batch);
          if (o.pass == Pass::kForward) ++forwards[at];
          if (o.pass == Pass::kBackward || o.pass == Pass::kInputGradient) ++inputs[at];
          if (o.pass == Pass::kBackward || o.pass == Pass::kWeightGradient) ++weights[at];
        }
      }
      const auto all = static_cast<std::size_t>(all_chunks(plan) * plan.grad_accumulation);
      for (const auto* passes : {&forwards, &inputs, &weights}) {
        ASSERT_EQ(passes->size(), all) << canonical(plan);
        for (const auto& [at, times] : *passes) ASSERT_EQ(times, 1) << canonical(plan);
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
