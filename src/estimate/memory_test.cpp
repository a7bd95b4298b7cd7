// The account against worked examples of published runs: every term by hand, from the shapes alone. The
// totals are what the formulas give; how far each is from the measured peak is in the validation tables.
#include <gtest/gtest.h>

#include <cmath>

#include "estimate/estimator.h"
#include "estimate/test_questions.h"

namespace shardplan {
namespace {

constexpr double kMiB = 1048576.0;

/// Megatron-Core with TransformerEngine: 2 + 4 bytes a parameter, 12 of optimizer state, its buffers.
Framework megatron() {
  Framework f;
  f.name = "megatron";
  f.state.fill({test_value(bytes(2)), test_value(bytes(4)), test_value(bytes(4)), test_value(bytes(8))});
  for (std::size_t z = 0; z < f.zero.size(); ++z) f.zero[z] = {true, z >= 3, z >= 2, z >= 1};
  f.buffers.logit = test_value(bytes(6));
  f.buffers.placeholder_gradients = f.buffers.sequence_gather = test_value(ratio(1));
  f.buffers.vocabulary_multiple = test_value(ratio(128));
  f.buffers.since_hopper = {test_value(mebibytes(64)), test_value(mebibytes(32))};
  f.buffers.grouped_workspaces = test_value(ratio(4));
  return f;
}

/// Llama-3-70B cut to 12 layers, as it was run on 8 B200.
Question llama_slice(std::int64_t sequence) {
  Question q;
  q.model.hidden = 8192;
  q.model.vocab = 128256;
  q.model.final_norm_parameters = 8192;
  Layer layer;
  layer.mixer = Attention{.heads = 64, .kv_heads = 8, .head_dim = 128};
  layer.mlp = DenseMlp{.width = 28672};
  layer.norm_parameters = 2 * 8192;
  q.model.layers.assign(12, layer);
  q.cluster = course_cluster(8);
  q.workload.sequence = sequence;
  q.framework = megatron();
  q.activations = ActivationModel::kOps;
  return q;
}

/// DeepSeek-V2 cut to 4 layers, the first dense.
Question deepseek_slice() {
  Question q = llama_slice(4096);
  q.model.hidden = 5120;
  q.model.vocab = 102400;
  q.model.final_norm_parameters = 5120;
  Layer layer;
  layer.mixer = LatentAttention{
      .heads = 128, .q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  layer.mlp = DenseMlp{.width = 12288};
  layer.norm_parameters = 2 * 5120;
  q.model.layers.assign(4, layer);
  for (std::size_t i = 1; i < 4; ++i) {
    q.model.layers[i].mlp = MoeMlp{.experts = 160, .top_k = 6, .width = 1536, .shared_width = 3072};
  }
  return q;
}

/// The 12-layer GPT of Megatron's functional tests: hidden 512, learned positions, dropout, attention mask.
Question gpt_test(bool fused_attention) {
  Question q = llama_slice(1024);
  q.model.hidden = 512;
  q.model.vocab = 50257;
  q.model.learned_positions = 1024;
  q.model.tied_embeddings = true;
  q.model.final_norm_parameters = 1024;
  Layer layer;
  layer.mixer =
      Attention{.heads = 8, .kv_heads = 8, .head_dim = 64, .q_bias = true, .kv_bias = true, .out_bias = true};
  layer.mlp = DenseMlp{.width = 2048, .gated = false, .bias = true};
  layer.norm_parameters = 4 * 512;
  q.model.layers.assign(12, layer);
  Kernels& k = q.workload.kernels;
  k.fused_attention = fused_attention;
  k.attention_dropout = k.hidden_dropout = k.attention_mask = true;
  k.fused_weight_gradient = false;
  return q;
}

struct Layout {
  int tp = 1, pp = 1, cp = 1, ep = 1, etp = 1, interleave = 1, zero = 1, micro_batch = 1;
  bool sequence_parallel = false;
};

Plan plan_of(const Layout& l) {
  Plan p;
  p.tp = l.tp;
  p.pp = l.pp;
  p.cp = l.cp;
  p.ep = l.ep;
  p.etp = l.etp;
  p.dp = 8 / (l.tp * l.pp * l.cp);
  p.zero_stage = static_cast<std::int8_t>(l.zero);
  p.micro_batch = l.micro_batch;
  p.grad_accumulation = 32;
  p.interleave = l.interleave;
  p.schedule = l.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B;
  p.sequence_parallel = l.sequence_parallel;
  return p;
}

double peak(const Question& q, const Layout& layout, int stage) {
  return Estimator(q).stage_memory<double>(plan_of(layout), stage).total().raw();
}

TEST(MemoryAccount, LlamaSliceOnEightB200) {
  const Question q = llama_slice(4096);
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 0), 71813791744.0) << "71459405824 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 1), 67510509568.0) << "67611131904 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.tp = 2, .sequence_parallel = true}, 0), 65079746560.0) << "65154318336 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.tp = 4, .sequence_parallel = true}, 0), 41916268544.0) << "41953525760 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.tp = 8, .sequence_parallel = true}, 0), 30344888320.0) << "30372003840 measured";
}

TEST(MemoryAccount, LlamaSliceAt32kTokens) {
  const Question q = llama_slice(32768);
  EXPECT_DOUBLE_EQ(peak(q, {.tp = 2, .cp = 4, .sequence_parallel = true}, 0), 74346930176.0);
  EXPECT_DOUBLE_EQ(peak(q, {.cp = 8}, 0), 112175050752.0) << "112212312064 measured";
}

TEST(MemoryAccount, DeepSeekSliceOnEightB200) {
  const Question q = deepseek_slice();
  EXPECT_DOUBLE_EQ(peak(q, {.ep = 8}, 0), 49459787264.0) << "48995762176 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2, .ep = 4}, 0), 33617600512.0) << "33914093568 measured";
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2, .ep = 4}, 1), 48393163776.0) << "47999614976 measured";
}

TEST(MemoryAccount, FunctionalTestsOfMegatron) {
  EXPECT_DOUBLE_EQ(peak(gpt_test(false), {.micro_batch = 4}, 0), 4701471232.0) << "4702452318 measured";
  EXPECT_DOUBLE_EQ(peak(gpt_test(true), {.micro_batch = 4}, 0), 2689778176.0) << "2742980863 measured";
}

TEST(MemoryAccount, ACompiledLossKeepsNoFp32Logits) {
  Question q = llama_slice(4096);
  q.framework.buffers.compiled_logit = test_value(bytes(4));
  const double eager = peak(q, {}, 0);
  q.workload.kernels.compiled_loss = true;
  EXPECT_DOUBLE_EQ(eager - peak(q, {}, 0), 4096.0 * 128256 * (6 - 4)) << "two bytes a logit less";
  q.framework.buffers.split_logit = test_value(bytes(6));
  EXPECT_DOUBLE_EQ(peak(q, {.tp = 2, .sequence_parallel = true}, 0), 65079746560.0)
      << "split logits go through handlers of their own";
}

TEST(MemoryAccount, PredictionLayersAreOfTheLastStage) {
  Question q = deepseek_slice();
  const Layout layout{.pp = 2, .ep = 4};
  const double first = peak(q, layout, 0), last = peak(q, layout, 1);
  const MemoryBreakdown<> before = Estimator(q).stage_memory<double>(plan_of(layout), 1);
  q.workload.mtp_layers = 1;
  EXPECT_DOUBLE_EQ(peak(q, layout, 0), first);
  EXPECT_GT(peak(q, layout, 1), last);
  const MemoryBreakdown<> after = Estimator(q).stage_memory<double>(plan_of(layout), 1);
  EXPECT_DOUBLE_EQ((after[MemoryTerm::kLogits] - before[MemoryTerm::kLogits]).raw(), 4096.0 * 102400 * 4);
  // A layer as the two there are, the product of two streams, three norms, and a copy of the table.
  const double layer = (before[MemoryTerm::kWeights].raw() - 2.0 * (102400.0 * 5120 + 5120)) / 2;
  EXPECT_DOUBLE_EQ((after[MemoryTerm::kWeights] - before[MemoryTerm::kWeights]).raw(),
                   layer + 2.0 * (2.0 * 5120 * 5120 + 3 * 5120 + 102400.0 * 5120));
}

TEST(MemoryAccount, GradientsOfTheHeadThatWait) {
  Question q = llama_slice(4096);
  const double none = peak(q, {.pp = 2}, 1);
  q.workload.kernels.deferred_head_gradients = 3;
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 1) - none, 3.0 * 4096 * (128256 + 8192) * 2);
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 0), 71813791744.0) << "they are on the last stage";
}

TEST(MemoryAccount, AnEngineThatKeepsWhatItReceives) {
  Question q = llama_slice(4096);
  q.framework.buffers.received = test_value(ratio(1));
  const double stream = 4096.0 * 8192 * 2, m = 32;
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 0), 71813791744.0 + (m + 2) * stream) << "gradients, outputs in flight";
  EXPECT_DOUBLE_EQ(peak(q, {.pp = 2}, 1), 67510509568.0 + 2 * (m - 1) * stream + m * 4096 * 128256 * 2)
      << "inputs and their gradients, logits";
}

TEST(MemoryAccount, TermsOfOneExample) {
  const Question q = llama_slice(4096);
  const MemoryBreakdown<> m = Estimator(q).stage_memory<double>(plan_of({.pp = 2}), 0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kWeights].raw(), 12369199104.0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kGradients].raw(), 24738398208.0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kOptimizer].raw(), 18553798656.0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kActivations].raw(), 13501464576.0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kTransient].raw(), 838860800.0);
  EXPECT_DOUBLE_EQ(m[MemoryTerm::kBuffers].raw(), 96 * kMiB + 1711276032.0 + 131072.0);
}

/// 3 shards: lcm(3, 128) = 384 elements in Megatron, 2 x 3 in DeepSpeed.
TEST(MemoryAccountTest, FlatBuffersArePaddedWhereTheyAreSharded) {
  const auto state = [](double bucket, double shard, std::int8_t stage) {
    Question q = llama_slice(4096);
    q.cluster = course_cluster(3);
    q.framework.buffers.bucket_multiple = test_value(ratio(bucket));
    q.framework.buffers.shard_multiple = test_value(ratio(shard));
    Plan p;
    p.dp = 3;
    p.zero_stage = stage;
    const Estimator estimator(q);
    return estimator.stage_memory<double>(p, 0)[MemoryTerm::kWeights].raw() / 2;
  };
  const double plain = state(1, 1, 1);
  EXPECT_EQ(state(128, 1, 0), plain) << "nothing is sharded";
  EXPECT_DOUBLE_EQ(state(128, 1, 1), std::ceil(plain / 384) * 384);
  EXPECT_DOUBLE_EQ(state(1, 2, 1), std::ceil(plain / 6) * 6);
  EXPECT_LT(state(128, 1, 1), 1.001 * plain);
}

}  // namespace
}  // namespace shardplan
