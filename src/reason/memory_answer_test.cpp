#include "reason/memory_answer.h"

#include <gtest/gtest.h>

#include "catalog/parameters.h"
#include "estimate/estimator.h"
#include "estimate/test_questions.h"
#include "import/flag_list.h"

namespace shardplan {
namespace {

constexpr double kGiB = 1073741824.0;

double activations_gib(const Question& q, Recompute recompute) {
  const Estimator estimator(q);
  Plan p;
  p.recompute = recompute;
  return estimator.stage_memory<double>(p, 0)[MemoryTerm::kActivations].raw() / kGiB;
}

TEST(Memory, Gpt175BStateAndFloor) {
  const Question q = gpt_question(
      {.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048, .gpus = 8});
  const Estimator estimator(q);
  const Floor floor = state_floor(estimator);
  EXPECT_NEAR(floor.state.raw() / kGiB, 2607.70, 0.005);
  EXPECT_NEAR(floor.state_per_gpu.raw() / kGiB, 325.96, 0.005);
  EXPECT_NEAR(floor.usable.raw() / kGiB, 182.32, 0.005);
  EXPECT_FALSE(floor.feasible);
  EXPECT_EQ(floor.min_gpus, 15);
  EXPECT_EQ(floor.min_gpus_whole_nodes, 16);
}

TEST(Memory, Gpt175BActivationsByThePaper) {
  const Question q =
      gpt_question({.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048});
  EXPECT_NEAR(activations_gib(q, Recompute::kNone), 256.5, 1e-9);
  EXPECT_NEAR(activations_gib(q, Recompute::kSelective), 76.5, 1e-9);
  EXPECT_NEAR(activations_gib(q, Recompute::kFull), 4.5, 1e-9);
}

TEST(Memory, Gpt65B) {
  const Question q = gpt_question({.parameters = 65e9, .layers = 80, .hidden = 8192, .heads = 64});
  EXPECT_NEAR(Estimator(q).state_total<double>().raw() / kGiB, 968.58, 0.005);
  EXPECT_NEAR(activations_gib(q, Recompute::kNone), 485, 1e-9);
  EXPECT_NEAR(activations_gib(q, Recompute::kSelective), 85, 1e-9);
}

TEST(Memory, Llama3_8BFitsOneGpuWithSelectiveRecomputation) {
  const Question q = llama3_8b_question(4096, 1);
  EXPECT_EQ(count_parameters(q.model).total, 8030261248);
  const Estimator estimator(q);
  EXPECT_NEAR(estimator.state_total<double>().raw() / kGiB, 119.66, 0.005);
  EXPECT_NEAR(activations_gib(q, Recompute::kNone), 97, 1e-9);
  EXPECT_NEAR(activations_gib(q, Recompute::kSelective), 17, 1e-9);
  Plan p;
  EXPECT_FALSE(memory_answer(estimator, p, {}, 0).fits);
  p.recompute = Recompute::kSelective;
  EXPECT_TRUE(memory_answer(estimator, p, {}, 0).fits);
}

TEST(Memory, OneLayerAt128KTokens) {
  const Question q = llama3_8b_question(131072, 1);
  const Estimator estimator(q);
  EXPECT_NEAR(estimator.layer_activations<double>({}, 0, ActivationModel::kPaper).raw() / kGiB, 2577, 1e-9);
  // Fused attention keeps no scores: a few hundred times less.
  EXPECT_LT(estimator.layer_activations<double>({}, 0, ActivationModel::kOps).raw() / kGiB, 20);
}

TEST(Memory, SharedOpsAccountOfOneLayer) {
  // llama3-70b slice of the published 8 x B200 runs, tp 1, 4096 tokens: 12 layers keep 6,750,732,288 bytes.
  Question q = llama3_8b_question(4096, 1);
  q.model.hidden = 8192;
  Layer layer;
  layer.mixer = Attention{.heads = 64, .kv_heads = 8, .head_dim = 128};
  layer.mlp = DenseMlp{.width = 28672};
  layer.norm_parameters = 2 * 8192;
  q.model.layers.assign(12, layer);
  q.activations = ActivationModel::kOps;
  const Estimator estimator(q);
  Plan p;
  // The published account keeps the norms' inputs and outputs, attention and MLP tensors of this list
  // exactly.
  EXPECT_DOUBLE_EQ(12 * estimator.layer_activations<double>(p, 0, ActivationModel::kOps).raw(),
                   13501464576.0);
}

struct PipelineCase {
  std::int64_t layers, hidden, heads;
};

class PipelineDepth : public testing::TestWithParam<PipelineCase> {};

TEST_P(PipelineDepth, DoesNotChangeTheFullestStagesActivations) {
  const PipelineCase c = GetParam();
  Question q = gpt_question({.parameters = 1e9, .layers = c.layers, .hidden = c.hidden, .heads = c.heads});
  const Estimator estimator(q);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    Plan flat;
    flat.recompute = recompute;
    const double one = estimator.stage_memory<double>(flat, 0)[MemoryTerm::kActivations].raw();
    for (std::int32_t pp = 2; pp <= c.layers; ++pp) {
      if (c.layers % pp != 0) continue;
      Plan p = flat;
      p.pp = pp;
      for (const std::int32_t micro_batches : {pp, 2 * pp, 16 * pp}) {
        p.grad_accumulation = micro_batches;
        const double deep = estimator.stage_memory<double>(p, 0)[MemoryTerm::kActivations].raw();
        EXPECT_NEAR(deep / one, 1, 1e-12) << "pp " << pp;
        for (std::int32_t v = 2; pp * v <= c.layers; ++v) {
          if (c.layers % (pp * v) != 0) continue;
          Plan interleaved = p;
          interleaved.interleave = v;
          interleaved.schedule = Schedule::kInterleaved;
          const double more = estimator.stage_memory<double>(interleaved, 0)[MemoryTerm::kActivations].raw();
          EXPECT_NEAR(more / one, 1 + (pp - 1.0) / (pp * v), 1e-12) << "pp " << pp << " v " << v;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PipelineDepth,
                         testing::Values(PipelineCase{96, 12288, 96}, PipelineCase{80, 8192, 64},
                                         PipelineCase{32, 4096, 32}, PipelineCase{105, 20480, 128},
                                         PipelineCase{12, 768, 12}));

TEST(Memory, StagesOfUnequalLayersAndEdges) {
  Question q = llama3_8b_question(4096, 3);
  const Estimator estimator(q);
  Plan p;
  p.pp = 3;  // 11, 11, 10 layers
  p.grad_accumulation = 3;
  double state = 0;
  for (int s = 0; s < 3; ++s) state += estimator.stage_memory<double>(p, s).state().raw();
  EXPECT_DOUBLE_EQ(state, 16.0 * 8030261248.0);
  EXPECT_EQ(estimator.stage_memory<double>(p, 0)[MemoryTerm::kLogits].raw(), 0);
  EXPECT_GT(estimator.stage_memory<double>(p, 2)[MemoryTerm::kLogits].raw(), 0);
}

MemoryAnswer of_70b_on_8(const char* host_memory) {
  FlagList flags{
      {"--preset", "llama3-70b"}, {"--gpu", "h100-sxm"}, {"--gpus", "8"}, {"--framework", "deepspeed"}};
  if (host_memory != nullptr) flags.emplace_back("--host-memory", host_memory);
  const Question q = question_from_flags(Purpose::kMemory, flags, catalog()).value();
  return memory_answer(Estimator(q), default_memory_plan(q)->plan, q.fixed, 0);
}

TEST(Memory, TheSmallestClusterWithAHostThatHasRoom) {
  const MemoryAnswer any = of_70b_on_8(nullptr);
  ASSERT_TRUE(any.smallest && any.smallest_offloading);
  EXPECT_FALSE(any.floor.feasible);
  EXPECT_GT(any.smallest->gpus, 8);
  EXPECT_EQ(any.smallest->host, bytes(0));
  EXPECT_EQ(any.smallest_offloading->gpus, 8);
  EXPECT_GT(any.smallest_offloading->host, bytes(0));
  // A host without room for it makes no cluster smaller.
  const MemoryAnswer none = of_70b_on_8("8");
  EXPECT_FALSE(none.smallest_offloading);
  EXPECT_EQ(none.smallest->gpus, any.smallest->gpus);
}

TEST(Memory, ATightPlanIsToldWhatMakesItSure) {
  Question q = llama3_8b_question(4096, 16);
  q.activations = ActivationModel::kOps;
  q.framework.name = "megatron";
  const Estimator estimator(q);
  Plan p;
  p.dp = 16;
  p.zero_stage = 1;
  const Bytes<> total = estimator.memory_account(p).worst().total(), usable = estimator.usable<double>();
  // A band that reaches just beyond what is usable.
  const double high = 1.01 * (usable / total).raw();
  const Evidence evidence{{{kMemoryBand, "framework", "megatron", 99, 0.9, high}}, {}};
  const MemoryAnswer a = memory_answer(estimator, p, {}, 0, evidence);
  EXPECT_EQ(a.verdict, Verdict::kTight);
  EXPECT_TRUE(a.fits);
  ASSERT_FALSE(a.remedies.empty());
  for (const Remedy& r : a.remedies) EXPECT_LE(high * r.memory, usable * 1.000001) << r.change;
}

}  // namespace
}  // namespace shardplan
