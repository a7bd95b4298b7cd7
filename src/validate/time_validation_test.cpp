#include "validate/time_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/estimator.h"
#include "validate/time_run.h"

namespace shardplan {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kColumns =
    "id,source_key,quality,framework,model,layers,hidden,heads,kv_heads,ffn,glu,vocab,seq_len,gpu,gpus,"
    "gpus_per_node,tp,pp,vp,cp,sharding,mbs,gbs,recompute,precision,measured_step_s,step_time_s,status\n";

struct Cells {
  std::string source = "s", quality = "A", framework = "NeMo", model = "llama3-70b";
  std::string shape = "80,8192,64,8,28672,1,128256", gpu = "H100-SXM-80GB", gpus = "64", node = "8";
  std::string degrees = "4,4,5,1", sharding = "", batch = "1,128", precision = "bf16";
  std::string times = "8.5,", status = "ok";
};

CsvTable table(const Cells& c) {
  auto read = read_csv(std::string(kColumns) + "r1," + c.source + "," + c.quality + "," + c.framework + "," +
                           c.model + "," + c.shape + ",4096," + c.gpu + "," + c.gpus + "," + c.node + "," +
                           c.degrees + "," + c.sharding + "," + c.batch + ",none," + c.precision + "," +
                           c.times + "," + c.status + "\n",
                       "runs.csv");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return *read;
}

TrainingRun run_of(const Cells& cells) {
  const CsvTable t = table(cells);
  const auto run = read_time_run({t, 0}, catalog());
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  return run ? run->run : TrainingRun{};
}

std::string reason(const Cells& cells) {
  const Validation v = validate_time(table(cells), catalog());
  return v.skipped.empty() ? "read" : v.skipped[0].reason;
}

TEST(TimeValidation, ThePlanThatRanIsTimed) {
  const Validation v = validate_time(table({}), catalog());
  ASSERT_EQ(v.rows.size(), 1U) << (v.skipped.empty() ? "" : v.skipped[0].reason);
  EXPECT_EQ(v.unit, "s");
  EXPECT_EQ(v.rows[0].measured, 8.5);
  const TrainingRun run = run_of({});
  EXPECT_EQ(v.rows[0].predicted, Estimator(run.question).time<double>(run.plan).total().raw());
  EXPECT_EQ(run.plan.interleave, 5);
  EXPECT_EQ(run.plan.dp, 4);
}

TEST(TimeValidation, OneThatWouldNotFitIsTimedToo) {
  EXPECT_EQ(reason({.gpus = "1", .degrees = "1,1,1,1", .batch = "1,1"}), "read");
}

TEST(TimeValidation, ADerivedStepTakesTheDerivedColumnOnly) {
  EXPECT_TRUE(validate_time(table({.times = ",8.5"}), catalog()).rows.empty());
  const auto printed = read_csv("id,step_time_s,status\nr1,8.5,oom\n", "runs.csv");
  ASSERT_TRUE(printed);
  EXPECT_TRUE(has_measured_step({*printed, 0}));
}

TEST(TimeValidation, WhatSaysNothingOfSpeedIsSkippedWithItsReason) {
  EXPECT_THAT(reason({.source = "megatron-golden"}), HasSubstr("deterministic kernels"));
  EXPECT_THAT(reason({.quality = "C"}), HasSubstr("quality C"));
  EXPECT_THAT(reason({.status = "oom"}), HasSubstr("status is oom"));
  EXPECT_THAT(reason({.batch = "1,"}), HasSubstr("global batch is not printed"));
  EXPECT_THAT(reason({.batch = "1,130"}), HasSubstr("not a legal plan here: dp 4"));
  EXPECT_THAT(reason({.degrees = ",,,1"}), HasSubstr("layout is not printed"));
  EXPECT_THAT(reason({.gpu = "A100-SXM-80GB", .precision = "fp8"}), HasSubstr("no fp8 peak is known of"));
}

TEST(TrainingRun, AShapeThatIsOnlyNamedIsThePublishedOne) {
  const TrainingRun run = run_of({.model = "nemotron4-340b", .shape = "96,,,,,,", .degrees = "8,8,,1"});
  EXPECT_EQ(run.question.model.hidden, 18432);
  EXPECT_EQ(run.plan.interleave, 12) << "the corpus's table of unprinted inputs";
  EXPECT_THAT(run.assumed, Contains("the shape as published for nemotron4-340b"));
  EXPECT_THAT(reason({.model = "unheard-of", .shape = "96,,,,,,"}), HasSubstr("not in the catalog"));
}

TEST(TrainingRun, ChunksMayDifferByALayer) {
  const TrainingRun run = run_of({.shape = "126,16384,128,8,53248,1,128256", .degrees = "4,8,8,1"});
  EXPECT_EQ(run.plan.first_layers, 1) << "64 chunks of two, the embedding counted";
  EXPECT_EQ(run.plan.last_layers, 1);
  EXPECT_THAT(run.assumed, Contains("the embedding and the loss dealt as a layer each, as the recipe does"));
}

TEST(TrainingRun, TheNetworkThatTheSourceNames) {
  const Cells cells{.source = "internevo",
                    .framework = "InternEvo",
                    .gpu = "A100-SXM-80GB",
                    .degrees = "1,1,1,1",
                    .sharding = "zero1 over 8 GPUs"};
  const double four_ports = run_of(cells).question.cluster.tiers.back().bandwidth.value.raw();
  Cells other = cells;
  other.source = "another";
  EXPECT_LT(four_ports, run_of(other).question.cluster.tiers.back().bandwidth.value.raw());
}

TEST(TrainingRun, AJobTakesEqualSharesOfScaleUpDomains) {
  const TrainingRun run = run_of({.gpu = "GB200", .gpus = "256", .node = "4", .batch = "1,256"});
  EXPECT_EQ(run.question.cluster.tiers.front().size, 64);
  EXPECT_THAT(run.assumed, Contains("64 GPUs of each scale-up domain of 72"));
  EXPECT_EQ(run_of({.gpu = "GB200", .node = "4"}).question.cluster.tiers.front().size, 72);
}

TEST(TrainingRun, ShardingThatIsNotToldAndReplicasThatAreNot) {
  EXPECT_EQ(run_of({.sharding = "ddp (FSDP=0)"}).plan.zero_stage, 1) << "the framework's default";
  EXPECT_EQ(run_of({.gpus = "16"}).plan.zero_stage, 0) << "one replica has nothing to shard over";
  const TrainingRun run = run_of({.sharding = "abc"});
  EXPECT_EQ(run.plan.zero_stage, 0);
  EXPECT_THAT(run.assumed, Contains("nothing is sharded: \"abc\" names no stage"));
}

TEST(TrainingRun, CountsThatAreNoneAreSkipped) {
  for (const char* node : {"0", "-1", "abc", "nan", "inf", "1e400"})
    EXPECT_EQ(reason({.node = node}),
              "gpus_per_node is \"" + std::string(node) + "\", not a positive whole number");
  EXPECT_THAT(reason({.degrees = "0,4,5,1"}), HasSubstr("tp is \"0\""));
  EXPECT_THAT(reason({.batch = "0,128"}), HasSubstr("mbs is \"0\""));
}

}  // namespace
}  // namespace shardplan
