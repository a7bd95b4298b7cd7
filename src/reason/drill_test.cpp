#include "reason/drill.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "estimate/comm.h"
#include "reason/bisect.h"
#include "reason/drill_reader_test.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kGiB = 1073741824.0, kTiB = 1024.0 * kGiB;

using testing::HasSubstr;
using testing::Not;
using testing::Optional;

std::vector<DrillSolution> all_solutions() {
  std::vector<DrillSolution> all;
  for (const Drill& drill : drills()) {
    for (DrillSolution& s : solve_drill(drill, test_reader())) all.push_back(std::move(s));
  }
  return all;
}

TEST(Drill, EveryScenarioAnswersTheFiveQuestions) {
  for (const DrillSolution& s : all_solutions()) {
    const Answer& a = s.findings;
    EXPECT_FALSE(a.binding.kind.empty()) << s.id;
    EXPECT_FALSE(a.binding.statement.empty()) << s.id;
    EXPECT_FALSE(a.binding.figures.empty()) << s.id;
    EXPECT_FALSE(a.unknowns.empty()) << s.id;
    EXPECT_FALSE(a.thresholds.empty()) << s.id;
    EXPECT_EQ(s.plan.has_value(), !a.nothing_fits) << s.id;
    if (!s.plan) continue;
    EXPECT_FALSE(a.failure_modes.empty()) << s.id;
    for (const FailureMode& f : a.failure_modes) EXPECT_FALSE(f.symptom.empty()) << s.id << " " << f.id;
    EXPECT_FALSE(a.not_used.empty()) << s.id;
    EXPECT_EQ(s.plan->gpus(), s.gpus) << s.id;
    std::set<std::string> defended;
    for (const AxisFinding& x : a.axes) defended.insert(x.axis);
    for (const auto& [axis, degree] :
         {std::pair{"dp", s.plan->dp}, {"tp", s.plan->tp}, {"pp", s.plan->pp}, {"cp", s.plan->cp}}) {
      EXPECT_TRUE(degree == 1 || defended.contains(axis)) << s.id << " " << axis;
    }
    for (const AxisFinding& x : a.axes) {
      EXPECT_FALSE(x.tier.empty()) << s.id << " " << x.axis;
      EXPECT_FALSE(x.reason.empty()) << s.id << " " << x.axis;
      EXPECT_TRUE(x.available_bandwidth.has_value()) << s.id << " " << x.axis;
    }
  }
}

TEST(Drill, EveryTableHasACommand) {
  for (const DrillSolution& s : all_solutions()) {
    EXPECT_FALSE(s.tables.empty()) << s.id;
    for (const DrillTable& t : s.tables) {
      EXPECT_FALSE(t.rows.empty()) << s.id << ": " << t.title;
      EXPECT_FALSE(t.commands.empty()) << s.id << ": " << t.title;
    }
  }
}

TEST(DrillFit, EightGpusHoldNoPlan) {
  const DrillSolution s = solved(1, "8");
  EXPECT_FALSE(s.plan);
  EXPECT_EQ(s.findings.binding.kind, "state");
  EXPECT_NEAR(s.findings.binding.value / kGiB, 325.96, 0.005);
  EXPECT_NEAR(s.findings.binding.limit / kGiB, 182.32, 0.005);
  EXPECT_NEAR(row_value(s, "state of the whole model") / kGiB, 2607.70, 0.005);
  EXPECT_EQ(row_value(s, "smallest count that holds the state"), 15);
  EXPECT_EQ(row_value(s, "the same in whole nodes"), 16);
  EXPECT_EQ(row_value(s, "of them fit"), 0);
  EXPECT_GT(row_value(s, "legal plans"), 1000);
  EXPECT_NEAR(row_value(s, "recompute none") / kGiB, 256.5, 0.05);
  EXPECT_NEAR(row_value(s, "recompute selective") / kGiB, 76.5, 0.05);
  EXPECT_NEAR(row_value(s, "recompute full") / kGiB, 4.5, 0.05);
}

TEST(DrillFit, ThresholdsTurnTheAnswer) {
  const DrillSolution s = solved(1, "8");
  const auto& thresholds = s.findings.thresholds;
  const auto of = [&](const char* parameter) {
    const auto same = [&](const Threshold& t) { return t.parameter == parameter; };
    const auto at = std::find_if(thresholds.begin(), thresholds.end(), same);
    EXPECT_NE(at, thresholds.end()) << parameter;
    return at == thresholds.end() ? 0 : at->threshold;
  };
  EXPECT_EQ(of("gpus"), 16);  // whole nodes: state alone would fit on 15
  // 0.96 HBM - 2 GiB holds the state of 325.96 GiB, and the least of a plan beside it.
  EXPECT_GT(of("hbm") / kGiB, (325.9629 + 2) / 0.96);
  EXPECT_LT(of("hbm") / kGiB, (325.9629 + 2) / 0.96 + 2);
}

TEST(DrillFit, SixteenGpusAreStateAndSixtyFourHavePlans) {
  const DrillSolution two_nodes = solved(1, "16");
  ASSERT_TRUE(two_nodes.plan);
  EXPECT_EQ(two_nodes.findings.binding.kind, "state");
  // What binds is why one node is not enough.
  EXPECT_NEAR(two_nodes.findings.binding.value / kGiB, 325.96, 0.005);
  EXPECT_NEAR(row_value(two_nodes, "state on each GPU, divided over all") / kGiB, 162.98, 0.005);
  const DrillSolution eight_nodes = solved(1, "64");
  ASSERT_TRUE(eight_nodes.plan);
  EXPECT_NE(eight_nodes.findings.binding.kind, "state");
  EXPECT_NEAR(row_value(eight_nodes, "state on each GPU, divided over all") / kGiB, 40.75, 0.005);
}

TEST(DrillScaleOut, FitsOneGpuClosely) {
  const DrillSolution s = solved(2, "A");
  EXPECT_NEAR(row_value(s, "state") / kGiB, 119.66, 0.005);
  EXPECT_NEAR(row_value(s, "activations") / kGiB, 17.0, 0.005);
  EXPECT_GT(row_value(s, "margin"), 0);
  EXPECT_LT(row_value(s, "margin") / kGiB, 50);
}

TEST(DrillScaleOut, FlatRingIsExposedAndTwoTiersHide) {
  const DrillSolution s = solved(2, "A");
  EXPECT_NEAR(row_value(s, "bandwidth needed to hide it") / 1e9, 67.8, 0.05);
  EXPECT_NEAR(row_value(s, "window: two thirds of the step"), 0.46667, 1e-4);
  EXPECT_NEAR(row_value(s, "node: 8 ranks"), 0.094, 0.0005);
  EXPECT_NEAR(row_value(s, "network: 8 ranks"), 0.070, 0.001);
  EXPECT_EQ(s.tables[3].rows[3].label, "exposed");
  EXPECT_EQ(s.tables[3].rows[3].value, 0);
  EXPECT_EQ(row_value(s, "tokens of one micro-step on 64 GPUs"), 262144);
  EXPECT_EQ(row_value(s, "accumulation steps at most"), 7);
  EXPECT_EQ(s.findings.binding.kind, "compute");
  EXPECT_NEAR(row_value(s, "a step of 64 sequences may take"), 1.12, 1e-9);
  EXPECT_NEAR(row_value(s, "efficiency that it takes"), 0.625, 1e-9);
  ASSERT_TRUE(s.plan);
  EXPECT_EQ(s.plan->dp, 64);
}

TEST(DrillParallelism, StateIsDividedOverAll) {
  const DrillSolution s = solved(2, "B");
  EXPECT_EQ(s.findings.binding.kind, "state");
  EXPECT_NEAR(s.findings.binding.value / kGiB, 968.58, 0.005);
  EXPECT_NEAR(row_value(s, "state on each of 64 GPUs, fully sharded") / kGiB, 15.13, 0.005);
  EXPECT_NEAR(row_value(s, "activations, closed forms, recompute none") / kGiB, 485, 0.5);
  EXPECT_NEAR(row_value(s, "activations, closed forms, recompute selective") / kGiB, 85, 0.5);
}

TEST(DrillParallelism, LongContextIsActivations) {
  const DrillSolution s = solved(2, "C");
  EXPECT_EQ(s.findings.binding.kind, "activations");
  EXPECT_NEAR(row_value(s, "one layer, closed form, no recomputation") / kGiB, 2577, 0.5);
  EXPECT_LT(row_value(s, "one layer, op by op with fused attention") / kGiB, 30);
  EXPECT_GT(row_value(s, "all layers, op by op"), 182.32 * kGiB);
  EXPECT_GT(row_value(s, "all layers, closed form, no recomputation"), 80 * kTiB);
  ASSERT_TRUE(s.plan);
  EXPECT_GT(s.plan->cp, 1);
}

TEST(DrillParallelism, OnlyTheSequenceDiffersAndAnotherConstraintBinds) {
  EXPECT_NE(solved(2, "A").findings.binding.kind, solved(2, "C").findings.binding.kind);
}

TEST(DrillServing, LatencyBindsInsideOneNode) {
  const DrillSolution s = solved(2, "D");
  EXPECT_EQ(s.findings.binding.kind, "latency");
  EXPECT_NEAR(row_value(s, "weights, bf16") / kGiB, 325.96, 0.005);
  EXPECT_NEAR(row_value(s, "on each of 8 GPUs") / kGiB, 40.75, 0.05);
  EXPECT_NEAR(s.findings.binding.value, 13.44e-3, 0.005e-3);  // 192 times 14 steps of 5 us
  EXPECT_NEAR(row_value(s, "tp 8, batch 8: all-reduces"), 13.7e-3, 0.05e-3);
  EXPECT_NEAR(row_value(s, "192 KiB"), 71.1e-6, 0.1e-6);
  EXPECT_NEAR(row_value(s, "key-value cache of a token"), 4718592, 1);
  EXPECT_LT(row_value(s, "tp 8, batch 8"), 0.025);
  EXPECT_LT(row_value(s, "tp 8, batch 1"), row_value(s, "tp 8, batch 8"));
  EXPECT_GT(row_value(s, "tp 4, batch 8"), 0.025);
  EXPECT_GT(row_value(s, "tp 16 over two nodes, batch 8"), row_value(s, "tp 8, batch 8"));
  EXPECT_GT(row_value(s, "ring") * 192, 0.025);
  EXPECT_GT(row_value(s, "prompt"), 0.2);
}

TEST(DrillCommunication, GradientsBetweenAndInsideNodes) {
  const DrillSolution between = solved(3, "between-nodes");
  EXPECT_NEAR(row_value(between, "bandwidth term"), 0.55125, 1e-6);
  EXPECT_NEAR(row_value(between, "latency term"), 0.00189, 1e-9);
  EXPECT_NEAR(row_value(between, "exposed"), 0.08647, 1e-4);
  EXPECT_EQ(between.findings.binding.kind, "link:network");
  const DrillSolution inside = solved(3, "inside-node");
  EXPECT_NEAR(row_value(inside, "bandwidth term"), 0.0817, 5e-5);
  EXPECT_NEAR(row_value(inside, "latency term"), 0.00007, 1e-9);
  EXPECT_EQ(row_value(inside, "exposed"), 0);
  EXPECT_EQ(inside.findings.binding.kind, "compute");
}

TEST(DrillCommunication, TheBandwidthThatHidesIsOneNumberAndTheAxisIsAnAxis) {
  for (const char* id : {"between-nodes", "inside-node"}) {
    const DrillSolution s = solved(3, id);
    const double needed = row_value(s, "bandwidth needed to hide");
    EXPECT_EQ(s.findings.axes.front().required_bandwidth->raw(), needed);
    EXPECT_EQ(s.findings.thresholds.front().threshold, needed);
    DrillCommand wider = with(s.asked, "--bw", format_number(needed / 1e9));
    EXPECT_EQ(comm_cost<double>(test_reader().communication(wider)).best().exposed->raw(), 0);
  }
  for (const DrillSolution& s : solve_drill(*find_drill(3), test_reader())) {
    for (const UnusedAxis& x : s.findings.not_used)
      EXPECT_THAT(x.axis, testing::AnyOf("zero", "dp", "tp", "pp", "cp", "ep")) << s.id;
  }
}

TEST(DrillParts, TermsAreInTheWordsOfPeople) {
  for (const DrillSolution& s : all_solutions()) {
    for (const DrillTable& table : s.tables) {
      for (const Figure& f : table.rows) EXPECT_THAT(f.label, Not(HasSubstr("_")));
    }
    for (const UnusedAxis& x : s.findings.not_used) EXPECT_THAT(x.reason, Not(HasSubstr("_"))) << s.id;
  }
}

TEST(DrillCommunication, TheSameAxisIsBytesInTrainingAndStepsInDecode) {
  const DrillSolution training = solved(3, "tp-training");
  EXPECT_EQ(row_value(training, "message"), 64.0 * 1048576.0);
  EXPECT_EQ(training.findings.binding.kind, "link:node");
  const DrillSolution small = solved(3, "decode-32k");
  EXPECT_NEAR(row_value(small, "together"), 70.2e-6, 0.05e-6);
  const DrillSolution large = solved(3, "decode-192k");
  EXPECT_NEAR(row_value(large, "together"), 71.1e-6, 0.05e-6);
  EXPECT_EQ(large.findings.binding.kind, "latency");
  EXPECT_THAT(large.findings.axes[0].reason, HasSubstr("98.4 %"));
}

TEST(DrillParts, BisectFindsTheTurn) {
  const auto above = [](double x) { return x >= 2.5; };
  EXPECT_THAT(bisect(1, 10, above), Optional(testing::DoubleNear(2.5, 1e-4)));
  EXPECT_EQ(bisect(3, 10, above), std::nullopt);
  EXPECT_EQ(bisect(1, 2, above), std::nullopt);
  const auto small = [](std::int64_t x) { return x <= 41; };
  EXPECT_THAT(bisect_integer(1000, 1, small), Optional(41));
}

TEST(DrillParts, CommandsAreTyped) {
  const DrillCommand command{"comm", {{"--gpus", "8"}}};
  EXPECT_EQ(text(with(with(command, "--gpus", "16"), "--bw", "50")), "shardplan comm --gpus 16 --bw 50");
}

}  // namespace
}  // namespace shardplan
