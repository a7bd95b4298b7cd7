#include "catalog/parameters.h"

#include <gtest/gtest.h>

#include <string>

#include "catalog/saturating.h"

namespace shardplan {
namespace {

Model llama3_8b() {
  Model model;
  model.hidden = 4096;
  model.vocab = 128'256;
  model.final_norm_parameters = 4096;
  Layer layer;
  layer.mixer = Attention{.heads = 32, .kv_heads = 8, .head_dim = 128};
  layer.mlp = DenseMlp{.width = 14'336};
  layer.norm_parameters = 2 * 4096;
  model.layers.assign(32, layer);
  return model;
}

Model mixtral_8x7b() {
  Model model = llama3_8b();
  model.vocab = 32'000;
  for (Layer& layer : model.layers) layer.mlp = MoeMlp{.experts = 8, .top_k = 2, .width = 14'336};
  return model;
}

std::int64_t of_cut(const Model& model, Cut cut) {
  std::int64_t total = 0;
  for (const Weight& weight : layer_weights(model, model.layers.front()))
    if (weight.cut == cut) total += weight.parameters;
  return total;
}

std::int64_t named(const std::vector<Weight>& weights, const std::string& name) {
  for (const Weight& weight : weights)
    if (weight.name == name) return weight.parameters;
  return 0;
}

TEST(Parameters, DenseModelIsExact) {
  const ParameterCount count = count_parameters(llama3_8b());
  EXPECT_EQ(count.total, 8'030'261'248);
  EXPECT_EQ(count.active, count.total);
  EXPECT_EQ(count.active_without_embedding, count.total - 128'256 * 4096);
}

TEST(Parameters, ExpertsAreActiveAtTopK) {
  const ParameterCount count = count_parameters(mixtral_8x7b());
  EXPECT_EQ(count.total, 46'702'792'704);
  EXPECT_EQ(count.active, 12'879'925'248);
  EXPECT_EQ(count.active_without_embedding, 12'748'853'248);
}

TEST(Parameters, TiedTableIsCountedAndLeftOutOnce) {
  Model model = llama3_8b();
  const std::int64_t table = model.vocab * model.hidden, untied = count_parameters(model).total;
  model.tied_embeddings = true;
  EXPECT_EQ(count_parameters(model).total, untied - table);
  EXPECT_EQ(count_parameters(model).active_without_embedding, untied - 2 * table);
  EXPECT_EQ(named(edge_weights(model), "head"), 0);
}

TEST(Parameters, WeightsSayHowTheyAreCut) {
  const Model model = mixtral_8x7b();
  constexpr std::int64_t h = 4096;
  EXPECT_EQ(of_cut(model, Cut::kTensor), 2 * h * h + 2 * h * 1024);
  EXPECT_EQ(of_cut(model, Cut::kExpert), 8 * 3 * h * 14'336);
  EXPECT_EQ(of_cut(model, Cut::kReplicated), 8 * h + 2 * h);  // router, norms
}

TEST(Parameters, LatentAttentionKeepsItsDownProjectionsWhole) {
  Model model;
  model.hidden = 7168;
  Layer layer;
  layer.mixer = LatentAttention{
      .heads = 128, .q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  model.layers = {layer};
  EXPECT_EQ(of_cut(model, Cut::kReplicated), 7168 * (1536 + 512 + 64) + 1536 + 512);
  EXPECT_EQ(of_cut(model, Cut::kTensor), 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168);
}

TEST(Parameters, SharedKeysAndValuesAreNotCounted) {
  Model model = llama3_8b();
  Attention attention{.heads = 32, .kv_heads = 8, .head_dim = 128};
  attention.key_is_value = true;
  model.layers.front().mixer = attention;
  const auto weights = layer_weights(model, model.layers.front());
  EXPECT_EQ(named(weights, "attention.key"), 4096 * 1024);
  EXPECT_EQ(named(weights, "attention.value"), 0);
}

TEST(Parameters, LayersThatDifferAreCountedEach) {
  Model model = llama3_8b();
  const std::int64_t before = count_parameters(model).total;
  model.layers[7].mlp = DenseMlp{.width = 14'336 + 1};
  EXPECT_EQ(count_parameters(model).total, before + 3 * 4096);
}

TEST(Parameters, DeclaredCountIsTheTruthForTheState) {
  Model model = llama3_8b();
  EXPECT_EQ(state_parameters(model), 8'030'261'248.0);
  model.declared_parameters = 65e9;
  EXPECT_EQ(state_parameters(model), 65e9);
}

TEST(Parameters, CountsSaturateInsteadOfWrapping) {
  EXPECT_EQ(product(kCountMax, 2), kCountMax);
  EXPECT_EQ(sum(kCountMax, 1), kCountMax);
  Model model = llama3_8b();
  model.hidden = model.vocab = std::int64_t{1} << 40;
  EXPECT_EQ(count_parameters(model).total, kCountMax);
}

}  // namespace
}  // namespace shardplan
