#include "reason/remedies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "estimate/test_questions.h"
#include "import/flag_list.h"
#include "import/question.h"

namespace shardplan {
namespace {

const Remedy& with(const std::vector<Remedy>& all, const std::string& change) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Remedy& r) { return r.change.starts_with(change); });
  if (found != all.end()) return *found;
  ADD_FAILURE() << "no remedy " << change;
  static const Remedy none;
  return none;
}

// The one table of remedies that was measured whole: Llama-3-70B on 32 H100 at tp 4, pp 4, vpp 5, dp 2.
// Throughput lost: tp 8 28.4 %, recomputed MLPs 16 %, pp 8 5.9 %; an allocator setting nothing. Its sequence
// is not told, but the 3 GB that recomputed MLPs gave back are those of 768 tokens (2.9 GB; 3.9 of 1,024).
// Its tensor-parallel traffic runs alone: NeMo's configuration of fine-tuning leaves ub_tp_comm_overlap off.
// With the overlap of pre-training recipes tp 8 would cost least of the two.
TEST(Remedies, OfLlama70BOn32H100) {
  const Result<Question> q = question_from_flags(Purpose::kRun,
                                                 {{"--preset", "llama3-70b"},
                                                  {"--gpu", "h100-sxm"},
                                                  {"--gpus", "32"},
                                                  {"--tp", "4"},
                                                  {"--pp", "4"},
                                                  {"--interleave", "5"},
                                                  {"--dp", "2"},
                                                  {"--zero", "1"},
                                                  {"--framework", "megatron"},
                                                  {"--global-batch", "128"},
                                                  {"--seq", "768"},
                                                  {"--tp-overlap", "off"},
                                                  {"--micro-batch", "1"}},
                                                 catalog());
  ASSERT_TRUE(q);
  const Estimator estimator(*q);
  const Result<MemoryPlan> layout = default_memory_plan(*q);
  ASSERT_TRUE(layout);
  const std::vector<Remedy> all = remedies(estimator, layout->plan, mebibytes(100));
  const Remedy &tensor = with(all, "tp 4 to 8"), &pipeline = with(all, "pp 4 to 8"),
               &mlp = with(all, "recompute none to mlp");
  EXPECT_LT(pipeline.step, mlp.step);
  EXPECT_LT(mlp.step, tensor.step);
  EXPECT_NEAR(mlp.freed.raw(), 3e9, 0.2e9);
  EXPECT_GT(pipeline.step, ratio(1));
  EXPECT_NEAR(1 / pipeline.step.raw() - 1, -0.059, 0.02);
  EXPECT_NEAR(1 / mlp.step.raw() - 1, -0.16, 0.05);
  EXPECT_NEAR(1 / tensor.step.raw() - 1, -0.284, 0.08);
}

Plan sixteen_replicas() {
  Plan p;
  p.dp = 16;
  p.zero_stage = 1;
  p.micro_batch = 4;
  p.grad_accumulation = 2;
  return p;
}

TEST(Remedies, AreLegalKeepTheBatchAndFreeEnough) {
  Question q = llama3_8b_question(4096, 16);
  q.activations = ActivationModel::kOps;
  const Estimator estimator(q);
  const Plan plan = sixteen_replicas();
  int stage = 0;
  const Bytes<> now = estimator.fullest_memory<double>(plan, stage).total();
  const std::vector<Remedy> all = remedies(estimator, plan, gibibytes(1));
  ASSERT_GT(all.size(), 3U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Plan& p = all[i].plan;
    EXPECT_FALSE(estimator.space().first_broken(p)) << all[i].change;
    EXPECT_EQ(p.dp * p.micro_batch * p.grad_accumulation, 128) << all[i].change;
    EXPECT_GE(all[i].freed, gibibytes(1));
    EXPECT_DOUBLE_EQ((now - all[i].freed).raw(), all[i].memory.raw());
    const Remedy& before = all[i > 0 ? i - 1 : 0];
    EXPECT_TRUE(all[i].step >= before.step || before.changes_training < all[i].changes_training);
  }
  EXPECT_EQ(with(all, "micro-batch").plan.micro_batch, 2);
}

TEST(Remedies, TakeTwoChangesWhereOneIsNotEnough) {
  Question q = llama3_8b_question(4096, 16);
  q.activations = ActivationModel::kOps;
  const Estimator estimator(q);
  const std::vector<Remedy> one = remedies(estimator, sixteen_replicas(), bytes(1));
  const auto most = std::max_element(one.begin(), one.end(),
                                     [](const Remedy& a, const Remedy& b) { return a.freed < b.freed; });
  const std::vector<Remedy> two = remedies(estimator, sixteen_replicas(), most->freed + mebibytes(1));
  ASSERT_FALSE(two.empty());
  EXPECT_NE(two[0].change.find(", "), std::string::npos);
}

TEST(Remedies, TwoChangesStandBeforeOneThatCostsMore) {
  const Result<Question> q = question_from_flags(
      Purpose::kMemory, {{"--preset", "llama3-8b"}, {"--gpus", "8"}, {"--seq", "131072"}}, catalog());
  ASSERT_TRUE(q);
  const Result<MemoryPlan> layout = default_memory_plan(*q);
  ASSERT_TRUE(layout);
  const Estimator estimator(*q);
  const Bytes<> total = estimator.memory_account(layout->plan).worst().total();
  const std::vector<Remedy> all = remedies(estimator, layout->plan, total - estimator.usable<double>());
  const Remedy &one = with(all, "recompute none to full"),
               &two = with(all, "recompute none to selective, offload none to activations");
  EXPECT_EQ(one.change, "recompute none to full") << "alone it is enough";
  EXPECT_LT(two.step, one.step);
  EXPECT_EQ(all[0].change, two.change);
  EXPECT_LE(two.memory, estimator.usable<double>());
}

Result<Question> told(std::vector<std::pair<std::string, std::string>> flags) {
  flags.emplace_back("--preset", "llama3-8b");
  flags.emplace_back("--gpu", "a100-80gb-sxm");
  flags.emplace_back("--gpus", "16");
  flags.emplace_back("--framework", "deepspeed");
  return question_from_flags(Purpose::kRun, flags, catalog());
}

TEST(Remedies, AFullHostIsAskedForLess) {
  const auto full = [](const char* host_memory) {
    const Result<Question> q = told({{"--offload", "optimizer,activations"}, {"--host-memory", host_memory}});
    EXPECT_TRUE(q);
    const Result<MemoryPlan> layout = default_memory_plan(*q);
    const Estimator estimator(*q);
    EXPECT_GT(estimator.host_need(layout->plan), q->cluster.host_memory->value);
    const std::vector<Remedy> all = host_remedies(estimator, layout->plan);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [&](const Remedy& r) {
      return r.host <= q->cluster.host_memory->value && r.memory <= estimator.usable<double>();
    }));
    return all;
  };
  const Remedy activations = with(full("100"), "offload optimizer,activations to optimizer");
  EXPECT_GT(activations.host, bytes(0));
  EXPECT_LT(activations.freed, bytes(0)) << "they come back";
  const std::vector<Remedy> none = full("8");
  EXPECT_TRUE(keeps_training(none));
  EXPECT_TRUE(std::none_of(none.begin(), none.end(), [](const Remedy& r) {
    return !r.changes_training && r.plan.offloads(Offload::kOptimizer);
  })) << "its state alone is larger";
}

TEST(Remedies, ASingleReplicaHasNothingToShard) {
  const Question q = llama3_8b_question(4096, 2);
  Plan p;
  p.dp = 2;
  p.zero_stage = 3;
  const Remedy tensor = with(remedies(Estimator(q), p, bytes(1)), "tp 1 to 2");
  EXPECT_EQ(tensor.plan.zero_stage, 0);
  EXPECT_TRUE(tensor.plan.sequence_parallel);
}

TEST(Remedies, KeepOnTheHostWhatItHasRoomFor) {
  const auto found = [](std::vector<std::pair<std::string, std::string>> flags) {
    const Result<Question> q = told(std::move(flags));
    EXPECT_TRUE(q);
    return remedies(Estimator(*q), sixteen_replicas(), gibibytes(1));
  };
  const std::vector<Remedy> all = found({});
  const Remedy& optimizer = with(all, "offload none to optimizer");
  EXPECT_FALSE(optimizer.changes_training);
  EXPECT_GT(optimizer.step, ratio(1)) << "the way to the host and back takes time";
  EXPECT_NEAR(optimizer.host.raw(), 8 * 16 * 8.03e9 / 16, 0.01 * 8 * 8.03e9)
      << "12 bytes a parameter and the fp32 gradient, of the shards of a node";
  const Remedy& activations = with(all, "offload none to activations");
  EXPECT_GT(activations.freed, gibibytes(1));
  for (const Remedy& r : found({{"--host-memory", "8"}})) EXPECT_EQ(r.host, bytes(0)) << r.change;
}

TEST(Remedies, ShardInsideANode) {
  const Result<Question> q = told({});
  ASSERT_TRUE(q);
  const Estimator estimator(*q);
  const std::vector<Remedy> all = remedies(estimator, sixteen_replicas(), gibibytes(1));
  const Remedy &node = with(all, "zero 1 to 3, shard-group all to 8"), &whole = with(all, "zero 1 to 3");
  EXPECT_EQ(node.plan.shard_group, 8);
  EXPECT_GT(whole.freed, bytes(0));
  const std::vector<Remedy> wider = remedies(estimator, node.plan, bytes(1));
  EXPECT_EQ(with(wider, "shard-group 8 to all").plan.shard_group, 0);
}

TEST(Remedies, WhatChangesTheTrainingIsMarkedAndLast) {
  const Result<Question> q = told({});
  ASSERT_TRUE(q);
  const std::vector<Remedy> all =
      remedies(Estimator(*q), sixteen_replicas(), gibibytes(1), catalog().quantized_bases);
  const auto first = std::find_if(all.begin(), all.end(), [](const Remedy& r) { return r.changes_training; });
  EXPECT_TRUE(std::all_of(first, all.end(), [](const Remedy& r) { return r.changes_training; }));
  EXPECT_NE(first, all.begin());
  EXPECT_TRUE(with(all, "optimizer adamw to adamw-8bit").changes_training);
  const Remedy &lora = with(all, "adapters of rank 16 trained alone"),
               &qlora = with(all, "adapters of rank 16 trained alone, base in nf4-dq");
  EXPECT_LT(qlora.memory, lora.memory);
  EXPECT_TRUE(keeps_training(all));
  EXPECT_FALSE(keeps_training({lora, qlora}));
}

TEST(Remedies, OtherTrainingWithOneChangeOfThePlan) {
  const Result<Question> q = question_from_flags(
      Purpose::kRun,
      {{"--preset", "llama3-70b"}, {"--gpu", "a100-80gb-sxm"}, {"--gpus", "8"}, {"--framework", "fsdp"}},
      catalog());
  ASSERT_TRUE(q);
  const Result<MemoryPlan> layout = default_memory_plan(*q);
  const Estimator estimator(*q);
  const Bytes<> needed = estimator.memory_account(layout->plan).worst().total() - estimator.usable<double>();
  const std::vector<Remedy> all = remedies(estimator, layout->plan, needed, catalog().quantized_bases);
  const Remedy& lora = with(all, "adapters of rank 16 trained alone, ");
  EXPECT_TRUE(lora.changes_training);
  EXPECT_EQ(lora.plan.gpus(), layout->plan.gpus());
  EXPECT_NE(lora.plan, layout->plan);
  EXPECT_LE(lora.memory, estimator.usable<double>());
}

TEST(Remedies, NarrowerProductsWhereTheDeviceHasThem) {
  const auto fp8 = [](const char* gpu) {
    const Result<Question> q = question_from_flags(Purpose::kRun,
                                                   {{"--preset", "llama3-8b"},
                                                    {"--gpu", gpu},
                                                    {"--gpus", "16"},
                                                    {"--framework", "megatron"},
                                                    {"--seq", "8192"}},
                                                   catalog());
    EXPECT_TRUE(q);
    const std::vector<Remedy> all = remedies(Estimator(*q), sixteen_replicas(), bytes(1));
    return std::any_of(all.begin(), all.end(),
                       [](const Remedy& r) { return r.change == "precision bf16 to fp8"; });
  };
  EXPECT_TRUE(fp8("h100-sxm"));
  EXPECT_FALSE(fp8("a100-80gb-sxm"));
}

TEST(Remedies, ChangeWords) {
  Plan from, to;
  to.tp = 2;
  to.recompute = Recompute::kFull;
  EXPECT_EQ(change_words(from, to), "recompute none to full, tp 1 to 2");
  EXPECT_EQ(change_words(from, from), "");
  to = from;
  to.shard_group = 8;
  to.offload = 1;
  EXPECT_EQ(change_words(from, to), "shard-group all to 8, offload none to optimizer");
}

}  // namespace
}  // namespace shardplan
