// The list of tensors against the account: what is held of a term adds up to the term, whatever is
// recomputed, split or in flight.
#include "estimate/tensors.h"

#include <gtest/gtest.h>

#include "estimate/estimator.h"
#include "estimate/test_questions.h"

namespace shardplan {
namespace {

constexpr double kMiB = 1048576.0;

Question latent_mixture() {
  Question q = llama3_8b_question(4096, 64);
  for (std::size_t i = 0; i < q.model.layers.size(); ++i) {
    q.model.layers[i].mixer = LatentAttention{
        .heads = 32, .q_rank = 1024, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 96};
    if (i > 0) q.model.layers[i].mlp = MoeMlp{.experts = 16, .top_k = 2, .width = 4096, .shared_width = 4096};
  }
  return q;
}

Question recurrent_hybrid() {
  Question q = llama3_8b_question(4096, 64);
  for (std::size_t i = 0; i < q.model.layers.size(); i += 2) {
    q.model.layers[i].mixer = Mamba2{.heads = 64, .head_dim = 64, .groups = 8, .state = 128};
    if (i % 4 == 0) q.model.layers[i].mlp = NoMlp{};
  }
  return q;
}

/// One for each way in which kernels and frameworks keep more or less.
std::vector<Question> questions() {
  std::vector<Question> all{llama3_8b_question(4096, 64), latent_mixture(), recurrent_hybrid()};
  for (std::size_t i = 0; i < 3; ++i) {
    Question unfused = all[i];
    unfused.workload.kernels = {.fused_attention = false,
                                .attention_dropout = true,
                                .hidden_dropout = true,
                                .gathers_expert_tokens = true,
                                .fused_expert_activation = false};
    all.push_back(unfused);
    Question copies = all[i];
    copies.framework.buffers.gated_copies = test_value(ratio(1));
    copies.framework.buffers.gathered_column_inputs = test_value(ratio(1));
    copies.framework.buffers.stage_outputs = test_value(ratio(1));
    copies.framework.buffers.logit = test_value(bytes(14));
    all.push_back(copies);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    Question prediction = all[i];
    prediction.workload.mtp_layers = 1;
    prediction.workload.kernels.deferred_head_gradients = 2;
    prediction.framework.buffers.received = test_value(ratio(1));
    all.push_back(prediction);
  }
  Question products = llama3_8b_question(4096, 64);
  products.framework.buffers.selective_products = test_value(ratio(0.5));
  all.push_back(products);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::uint8_t targets : {targets::kAll, targets::kMlp, std::uint8_t{1}}) {
      Question adapted = all[i];
      adapted.workload.adapters = {.rank = 16, .targets = targets, .base = {}};
      adapted.workload.expert_load = 1.5;
      all.push_back(adapted);
    }
  }
  for (Question& q : all) q.activations = ActivationModel::kOps;
  return all;
}

std::vector<Plan> plans() {
  std::vector<Plan> all;
  Plan p;
  p.dp = 2;
  p.tp = 4;
  p.cp = 2;
  p.pp = 4;
  p.zero_stage = 1;
  p.micro_batch = 2;
  p.grad_accumulation = 16;
  p.sequence_parallel = true;
  for (const Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe, Schedule::kZbH1, Schedule::kZbV,
                                  Schedule::kDualPipe, Schedule::kInterleaved}) {
    p.schedule = schedule;
    p.interleave = schedule == Schedule::kInterleaved ? 2 : 1;
    for (const char* recompute : {"none", "selective", "full", "full:1", "uniform:2", "layernorm,moe_act",
                                  "mla_up_proj,mlp", "moe"}) {
      p.recompute = *recompute_named(recompute);
      all.push_back(p);
    }
  }
  p.schedule = Schedule::k1F1B;
  p.interleave = 1;
  for (const char* recompute : {"none", "full"}) {
    p.recompute = *recompute_named(recompute);
    p.offload = static_cast<std::uint8_t>(Offload::kActivations);
    all.push_back(p);
  }
  all.push_back({});
  return all;
}

double held(const std::vector<Tensor>& tensors, MemoryTerm term) {
  double sum = 0;
  for (const Tensor& t : tensors) sum += t.term == term ? t.held().raw() : 0;
  return sum;
}

TEST(Tensors, AddUpToTheAccount) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Plan& p : plans()) {
      for (int stage = 0; stage < p.pp; ++stage) {
        const MemoryBreakdown<> memory = estimator.stage_memory<double>(p, stage);
        const std::vector<Tensor> tensors = estimator.tensors(p, stage);
        for (const MemoryTerm term : {MemoryTerm::kWeights, MemoryTerm::kGradients, MemoryTerm::kOptimizer,
                                      MemoryTerm::kActivations, MemoryTerm::kLogits, MemoryTerm::kBuffers}) {
          const double account = memory[term].raw();
          EXPECT_NEAR(held(tensors, term), account, 1e-9 * account)
              << name(term) << " of stage " << stage << ", " << canonical(p);
        }
      }
    }
  }
}

TEST(Tensors, OfThePaperAddUpForItsOwnShape) {
  const Question q =
      gpt_question({.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048});
  const Estimator estimator(q);
  for (const Recompute& recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    Plan p;
    p.recompute = recompute;
    const double account = estimator.stage_memory<double>(p, 0)[MemoryTerm::kActivations].raw();
    EXPECT_NEAR(held(estimator.tensors(p, 0), MemoryTerm::kActivations), account, 1e-9 * account);
  }
}

TEST(Tensors, LogitsOfGpt2) {
  Question q =
      gpt_question({.parameters = 0.774e9, .layers = 36, .hidden = 1280, .heads = 20, .sequence = 1024});
  q.model.vocab = 50304;
  Plan p;
  p.micro_batch = 4;
  double found = 0;
  for (const Tensor& t : Estimator(q).tensors(p, 0)) {
    if (t.name == "logits in fp32") found = t.bytes.raw() / kMiB;
  }
  EXPECT_DOUBLE_EQ(found, 786);
}

TEST(Tensors, LargestByWhatTheyHold) {
  const std::vector<Tensor> tensors{{"one", bytes(10), 1, MemoryTerm::kWeights},
                                    {"many", bytes(1), 100, MemoryTerm::kActivations},
                                    {"none", bytes(1e6), 0, MemoryTerm::kTransient}};
  const std::vector<Tensor> most = largest(tensors, 5);
  ASSERT_EQ(most.size(), 2U);
  EXPECT_EQ(most[0].name, "many");
  EXPECT_EQ(largest(tensors, 1).size(), 1U);
}

}  // namespace
}  // namespace shardplan
