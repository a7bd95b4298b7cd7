// Builders of architectures that the general decoder does not express: older ones and Gemma's later ones.
#include <fmt/format.h>

#include <algorithm>

#include "catalog/saturating.h"
#include "import/hf_decoder.h"

namespace shardplan {

using nlohmann::json;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

void for_each_attention(Model& model, auto&& change) {
  for (Layer& layer : model.layers)
    if (auto* attention = std::get_if<Attention>(&layer.mixer)) change(*attention);
}

void set_kv_heads(ConfigReader& r, Model& model, std::int64_t kv_heads, const char* field) {
  for_each_attention(model, [&](Attention& a) {
    if (kv_heads < 1 || a.heads % kv_heads != 0)
      r.fail("out_of_range", field, fmt::format("{} key-value heads for {} heads", kv_heads, a.heads),
             "a divisor of the number of heads");
    a.kv_heads = kv_heads;
  });
}

/// The per-layer inputs of Gemma 3n and 4: a gate, a projection and a norm in each layer, a table and a
/// projection before the first.
void add_per_layer_inputs(ConfigReader& r, Model& model) {
  const std::int64_t width = r.integer({"hidden_size_per_layer_input"}, kWidthMax, 0);
  if (width == 0) return;
  const std::int64_t all = product(width, static_cast<std::int64_t>(model.layers.size()));
  const std::int64_t rows = r.integer({"vocab_size_per_layer_input"}, kVocabularyMax);
  for (Layer& layer : model.layers)
    layer.other_parameters = sum(layer.other_parameters, product(2, model.hidden, width), model.hidden);
  model.other_parameters = sum(model.other_parameters, product(rows, all), product(model.hidden, all), width);
}

/// The last layers read the cache of earlier ones.
void share_kv(ConfigReader& r, Model& model) {
  const std::int64_t layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t shared = r.integer({"num_kv_shared_layers"}, kLayersMax, 0);
  for (std::int64_t i = std::max<std::int64_t>(0, layers - shared); i < layers && shared < layers; ++i)
    if (auto* attention = std::get_if<Attention>(&model.layers[at(i)].mixer)) attention->shares_kv = true;
}

/// Gemma 4's mixture stands beside the dense MLP, which is counted as a shared expert; its router has a scale
/// of hidden size and one a expert, and three more norms.
void add_gemma4_experts(ConfigReader& r, Model& model) {
  if (!r.flag({"enable_moe_block"})) return;
  const std::int64_t experts = r.integer({"num_experts"}, kExpertsMax);
  const std::int64_t top_k = r.integer({"top_k_experts"}, kExpertsMax);
  const std::int64_t width = r.integer({"moe_intermediate_size", "expert_intermediate_size"}, kMlpWidthMax);
  if (top_k > experts)
    r.fail("out_of_range", "top_k_experts", fmt::format("{} of {} experts a token", top_k, experts),
           "at most all");
  for (Layer& layer : model.layers) {
    const auto* dense = std::get_if<DenseMlp>(&layer.mlp);
    MoeMlp moe{.experts = experts, .top_k = top_k, .width = width};
    moe.shared_width = dense != nullptr ? dense->width : 0;
    layer.mlp = moe;
    layer.norm_parameters = sum(layer.norm_parameters, product(3, model.hidden));
    layer.other_parameters = sum(layer.other_parameters, model.hidden, experts);
  }
}

void widen_shared_mlps(ConfigReader& r, Model& model) {
  if (!r.flag({"use_double_wide_mlp"})) return;
  for (Layer& layer : model.layers) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    auto* dense = std::get_if<DenseMlp>(&layer.mlp);
    if (attention != nullptr && dense != nullptr && attention->shares_kv)
      dense->width = product(dense->width, 2);
  }
}

}  // namespace

void build_pangu(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed()) return;
  // Each layer stores its rotary frequencies, head_dim / 2 fp32 values: as many bytes as head_dim bf16
  // parameters.
  const Attention& first = std::get<Attention>(model.layers.front().mixer);
  const std::int64_t buffers = product(first.head_dim, static_cast<std::int64_t>(model.layers.size()));
  model.extras.push_back({"rotary_buffers", buffers, buffers});
  r.assume("rotary_buffers: fp32 values stored in the checkpoint, counted as two bf16 parameters each");
}

void build_chatglm(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed() || !r.flag({"multi_query_attention"})) return;
  set_kv_heads(r, model, r.integer({"multi_query_group_num"}, kHeadsMax), "multi_query_group_num");
}

void build_reward_model(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  model.extras.push_back({"reward_head", sum(model.hidden, 1), sum(model.hidden, 1)});
}

void build_falcon(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed()) return;
  const bool new_architecture = r.flag({"new_decoder_architecture"});
  if (!new_architecture && r.flag({"multi_query"})) set_kv_heads(r, model, 1, "multi_query");
  const bool parallel = r.flag({"parallel_attn"});
  const std::int64_t norms_new =
      r.optional_integer({"num_ln_in_parallel_attn"}, 2, 1).value_or(new_architecture ? 2 : 1);
  const std::int64_t norms = parallel || new_architecture ? norms_new : 2;
  for (Layer& layer : model.layers) layer.norm_parameters = product(norms, norm_size(t.norm, model.hidden));
}

void build_mpt(ConfigReader& r, const Traits& t, Model& model) {
  Traits traits = t;
  traits.width_multiple = static_cast<int>(r.integer({"expansion_ratio"}, 64));
  if (!r.flag({"no_bias"})) {
    traits.norm = NormKind::kLayer;
    traits.qkv_bias = traits.out_bias = traits.mlp_bias = "always";
  }
  const json* attention = r.object({"attn_config"});
  const auto entry = [&](const char* name) {
    return attention != nullptr ? attention->value(name, json()) : json();
  };
  const bool no_alibi = entry("alibi").is_boolean() && !entry("alibi").get<bool>();
  traits.learned_positions = no_alibi && r.flag({"learned_pos_emb"});
  if (entry("qk_ln") == json(true)) {
    traits.qk_norm = "full_width";
    r.assume("attn_config.qk_ln: layer norms counted with weights only");
  }
  build_decoder(r, traits, model);
  if (const auto kv = whole_number(entry("kv_n_heads")))
    set_kv_heads(r, model, *kv, "attn_config.kv_n_heads");
}

void build_opt(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  const auto projected = r.optional_integer({"word_embed_proj_dim"}, kWidthMax, 1);
  if (projected && *projected != model.hidden)
    r.fail("unsupported", "word_embed_proj_dim",
           fmt::format("embeddings of {} for hidden size {}", *projected, model.hidden),
           "the hidden size (OPT-350m's projection is not modelled)");
  if (!r.flag({"do_layer_norm_before"})) model.final_norm_parameters = 0;
}

void build_gemma3n(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed()) return;
  share_kv(r, model);
  const std::int64_t h = model.hidden;
  const std::int64_t inputs = r.integer({"altup_num_inputs"}, kHeadsMax);
  const std::int64_t rank = r.integer({"laurel_rank"}, kWidthMax);
  // Learned augmented residual: two low-rank matrices and a norm. Alternating updates: scale, router with its
  // norm, prediction and correction coefficients.
  const std::int64_t laurel = sum(product(2, h, rank), h);
  const std::int64_t altup =
      sum(product(2, h), product(h, inputs), product(inputs, inputs, inputs), product(inputs, inputs));
  for (Layer& layer : model.layers) layer.other_parameters = sum(layer.other_parameters, laurel, altup);
  // Layers that read an earlier cache keep projections of their own in the checkpoint, unused.
  for (Layer& layer : model.layers)
    if (const auto* a = std::get_if<Attention>(&layer.mixer); a != nullptr && a->shares_kv)
      layer.other_parameters =
          sum(layer.other_parameters, product(2, h, a->kv_heads, a->head_dim), a->head_dim);
  model.other_parameters = sum(model.other_parameters, product(2, inputs - 1, h, h));
  add_per_layer_inputs(r, model);
}

void build_gemma4(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed()) return;
  share_kv(r, model);
  const auto types = read_layer_types(r, t, static_cast<std::int64_t>(model.layers.size()));
  const std::int64_t global_dim = r.integer({"global_head_dim"}, kWidthMax);
  const auto global_kv = r.optional_integer({"num_global_key_value_heads"}, kHeadsMax, 1);
  const bool key_is_value = r.flag({"attention_k_eq_v"});
  for (std::size_t i = 0; i < types.size() && i < model.layers.size(); ++i) {
    auto* a = std::get_if<Attention>(&model.layers[i].mixer);
    // The class makes the last layer full whatever the list says.
    if (a == nullptr || (types[i] == "sliding_attention" && i + 1 < types.size())) continue;
    a->window = 0;
    a->head_dim = global_dim;
    a->key_is_value = key_is_value;
    if (key_is_value && global_kv) a->kv_heads = *global_kv;
    if (a->heads % a->kv_heads != 0)
      r.fail("out_of_range", "num_global_key_value_heads",
             fmt::format("{} for {} heads", a->kv_heads, a->heads), "a divisor");
  }
  widen_shared_mlps(r, model);
  add_gemma4_experts(r, model);
  add_per_layer_inputs(r, model);
}

}  // namespace shardplan
