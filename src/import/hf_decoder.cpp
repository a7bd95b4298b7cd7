#include "import/hf_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/parameters.h"
#include "catalog/saturating.h"

namespace shardplan {

using nlohmann::json;

namespace {

constexpr Names kLayerNames = {"num_hidden_layers", "n_layer", "num_layers", "n_layers"};
constexpr Names kHiddenNames = {"hidden_size", "n_embd", "d_model", "n_embed"};
constexpr Names kVocabularyNames = {"vocab_size", "padded_vocab_size"};
constexpr Names kPositionNames = {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                                  "max_sequence_length",     "n_ctx"};
constexpr Names kHeadNames = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
constexpr Names kKvHeadNames = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads"};
constexpr Names kHeadDimNames = {"head_dim", "attention_head_dim", "kv_channels"};
constexpr Names kWidthNames = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
constexpr Names kExpertNames = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
constexpr Names kTopKNames = {
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_k", "moe_topk",
    "moe_top_k",           "top_k_experts"};
constexpr Names kSharedCountNames = {"n_shared_experts", "moe_num_shared_experts", "num_shared_experts"};
constexpr Names kMtpNames = {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules",
                             "num_mtp_layers"};
constexpr Names kWindowNames = {"sliding_window", "sliding_window_size"};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Every `period`-th layer is full, the others are of `kind`.
std::vector<std::string> periodic(std::int64_t layers, std::int64_t period, const char* kind) {
  std::vector<std::string> types(at(layers), kind);
  for (std::int64_t i = 0; i < layers; ++i)
    if (period > 0 && (i + 1) % period == 0) types[at(i)] = "full_attention";
  return types;
}

std::vector<std::string> lettered(ConfigReader& r, const std::string& pattern, std::int64_t layers) {
  std::vector<std::string> types;
  for (std::int64_t i = 0; i < layers; ++i)
    types.emplace_back(pattern[at(i) % pattern.size()] == 'L' ? "sliding_attention" : "full_attention");
  if (pattern.find_first_not_of("LG") != std::string::npos)
    r.fail("out_of_range", "sliding_window_pattern",
           fmt::format("sliding_window_pattern is {}", shown(json(pattern))), "a number, or letters L and G");
  return types;
}

/// Layer kinds that Qwen3-Next and MiniMax-Text give in other notations than layer_types.
std::vector<std::string> linear_types(ConfigReader& r, std::int64_t layers) {
  if (const auto marks =
          r.in_file({"attn_type_list"}) ? r.integers_by_layer({"attn_type_list"}, layers, 1) : std::nullopt) {
    std::vector<std::string> types;
    for (const std::int64_t mark : *marks)
      types.emplace_back(mark == 1 ? "full_attention" : "linear_attention");
    return types;
  }
  return periodic(layers, r.integer({"full_attention_interval"}, kLayersMax), "linear_attention");
}

std::vector<std::string> window_types(ConfigReader& r, const Traits& t, std::int64_t layers) {
  const char* sliding = "sliding_attention";
  switch (t.window) {
    case WindowRule::kNone:
      break;
    case WindowRule::kAll:
      return std::vector<std::string>(at(layers), sliding);
    case WindowRule::kMaxWindowLayers: {
      if (!r.flag({"use_sliding_window"})) break;
      const std::int64_t first = r.optional_integer({"max_window_layers"}, kLayersMax).value_or(0);
      std::vector<std::string> types(at(layers), sliding);
      std::fill(types.begin(), types.begin() + std::min(first, layers), "full_attention");
      return types;
    }
    case WindowRule::kPeriod: {
      const auto pattern = r.raw().find("sliding_window_pattern");
      if (pattern != r.raw().end() && pattern->is_string() && !pattern->get<std::string>().empty())
        return lettered(r, pattern->get<std::string>(), layers);
      return periodic(
          layers,
          r.integer_or({"sliding_window_pattern"}, kLayersMax, t.window_period, "one full layer in so many"),
          sliding);
    }
    case WindowRule::kChunks:
      return periodic(layers, t.window_period, "chunked_attention");
  }
  return std::vector<std::string>(at(layers), "full_attention");
}

GatedDeltaNet read_delta_net(ConfigReader& r) {
  GatedDeltaNet d;
  d.key_heads = r.integer({"linear_num_key_heads"}, kHeadsMax);
  d.value_heads = r.integer({"linear_num_value_heads"}, kHeadsMax);
  d.key_dim = r.integer({"linear_key_head_dim"}, kWidthMax);
  d.value_dim = r.integer({"linear_value_head_dim"}, kWidthMax);
  d.conv_kernel = r.integer({"linear_conv_kernel_dim"}, kWidthMax);
  return d;
}

/// MiniMax's lightning attention: query, key, value and gate of full width, a norm, an output.
OtherMixer lightning(const Heads& heads, std::int64_t hidden) {
  const std::int64_t width = product(heads.heads, heads.head_dim);
  return {"lightning_attention",
          heads.heads,
          heads.head_dim,
          heads.heads,
          sum(product(5, hidden, width), width),
          0};
}

LatentAttention read_latent(ConfigReader& r, const Traits& t) {
  LatentAttention a;
  a.heads = r.integer(kHeadNames, kHeadsMax);
  a.q_rank = r.optional_integer({"q_lora_rank"}, kWidthMax).value_or(0);
  a.kv_rank = r.integer({"kv_lora_rank"}, kWidthMax);
  a.nope_dim = r.integer({"qk_nope_head_dim"}, kWidthMax);
  a.rope_dim = r.integer({"qk_rope_head_dim"}, kWidthMax, 0);
  a.value_dim = r.integer({"v_head_dim"}, kWidthMax);
  a.bias = rule_holds(r, t.qkv_bias);
  (void)r.in_file(kKvHeadNames);
  if (!t.indexer) return a;
  a.index_heads = r.integer({"index_n_heads"}, kHeadsMax);
  a.index_dim = r.integer({"index_head_dim"}, kWidthMax);
  a.index_top_k = r.integer({"index_topk"}, kPositionsMax);
  return a;
}

void set_mixers(ConfigReader& r, const Traits& t, const std::vector<std::string>& types, Model& model) {
  const std::int64_t layers = static_cast<std::int64_t>(model.layers.size());
  if (t.attention == AttentionKind::kLatent) {
    const LatentAttention latent = read_latent(r, t);
    for (Layer& layer : model.layers) layer.mixer = latent;
    return;
  }
  const Heads heads = read_heads(r, t, model.hidden, layers);
  std::optional<Mixer> linear;
  for (std::int64_t i = 0; i < layers && !r.failed(); ++i) {
    if (t.linear == LinearKind::kNone || types[at(i)] != "linear_attention") {
      model.layers[at(i)].mixer = attention_of(r, t, heads, i);
      continue;
    }
    if (!linear)
      linear = t.linear == LinearKind::kDeltaNet ? Mixer(read_delta_net(r))
                                                 : Mixer(lightning(heads, model.hidden));
    model.layers[at(i)].mixer = *linear;
  }
}

std::vector<bool> first_dense(ConfigReader& r, std::int64_t layers) {
  std::vector<bool> sparse(at(layers), false);
  const std::int64_t first = r.integer({"first_k_dense_replace"}, kLayersMax, 0);
  const auto frequency = r.raw().find("moe_layer_freq");
  if (frequency != r.raw().end() && frequency->is_array()) {
    const auto marks = r.integers_by_layer({"moe_layer_freq"}, layers, 1);
    for (std::int64_t i = 0; marks && i < layers; ++i) sparse[at(i)] = (*marks)[at(i)] == 1;
    return sparse;
  }
  const std::int64_t every = r.optional_integer({"moe_layer_freq"}, kLayersMax, 1).value_or(1);
  for (std::int64_t i = first; i < layers; ++i) sparse[at(i)] = i % every == 0;
  return sparse;
}

/// Layers named by index in a list of the file.
void mark_listed(ConfigReader& r, const json* indices, bool value, std::vector<bool>& sparse) {
  if (indices == nullptr) return;
  for (const json& index : *indices) {
    const auto number = whole_number(index);
    if (!number || *number < 0 || *number >= static_cast<std::int64_t>(sparse.size()))
      return r.fail("out_of_range", "mlp_only_layers",
                    fmt::format("layer {} of a list of layers", shown(index)),
                    fmt::format("whole numbers from 0 to {}", static_cast<std::int64_t>(sparse.size()) - 1));
    sparse[at(*number)] = value;
  }
}

std::vector<bool> every_nth(ConfigReader& r, const char* name, std::int64_t layers) {
  const std::int64_t step = r.integer({name}, kLayersMax);
  std::vector<bool> sparse(at(layers), false);
  for (std::int64_t i = 0; i < layers; ++i) sparse[at(i)] = (i + 1) % step == 0;
  return sparse;
}

std::vector<bool> layer_range(ConfigReader& r, std::int64_t layers) {
  const std::int64_t first = r.integer({"moe_layer_start_index"}, kLayersMax, 0);
  const std::int64_t last = r.integer({"moe_layer_end_index"}, kLayersMax, -1);
  std::vector<bool> sparse = every_nth(r, "moe_layer_interval", layers);
  for (std::int64_t i = 0; i < layers; ++i)
    if (i < first || (last >= 0 && i > last)) sparse[at(i)] = false;
  return sparse;
}

std::vector<bool> sparse_layers(ConfigReader& r, const Traits& t, std::int64_t layers) {
  if (const auto types = r.names_by_layer({"mlp_layer_types"}, layers)) {
    r.set_aside({"first_k_dense_replace", "moe_layer_freq", "mlp_only_layers", "decoder_sparse_step"});
    std::vector<bool> sparse;
    for (const std::string& type : *types) sparse.push_back(type != "dense");
    return sparse;
  }
  switch (t.moe) {
    case MoeLayers::kNone:
      return std::vector<bool>(at(layers), false);
    case MoeLayers::kAll:
      return std::vector<bool>(at(layers), true);
    case MoeLayers::kFirstDense:
      return first_dense(r, layers);
    case MoeLayers::kRange:
      return layer_range(r, layers);
    case MoeLayers::kSparseStep: {
      std::vector<bool> sparse = every_nth(r, "decoder_sparse_step", layers);
      mark_listed(r, r.list({"mlp_only_layers"}), false, sparse);
      return sparse;
    }
    case MoeLayers::kInterleave: {
      if (const json* listed = r.list({"moe_layers"})) {
        std::vector<bool> sparse(at(layers), false);
        mark_listed(r, listed, true, sparse);
        return sparse;
      }
      return every_nth(r, "interleave_moe_layer_step", layers);
    }
    case MoeLayers::kPeriodOffset: {
      const std::int64_t period = r.integer({"expert_layer_period"}, kLayersMax);
      const std::int64_t offset = r.integer({"expert_layer_offset"}, kLayersMax, 0);
      std::vector<bool> sparse(at(layers), false);
      for (std::int64_t i = 0; i < layers; ++i) sparse[at(i)] = i % period == offset;
      return sparse;
    }
  }
  return std::vector<bool>(at(layers), false);
}

std::vector<std::int64_t> dense_widths(ConfigReader& r, const Traits& t, std::int64_t hidden,
                                       std::int64_t layers) {
  const bool other_name = *t.dense_width != '\0';
  auto widths = other_name ? r.integers_by_layer({t.dense_width}, layers, kMlpWidthMax)
                           : r.integers_by_layer(kWidthNames, layers, kMlpWidthMax);
  const char* name = other_name ? t.dense_width : *kWidthNames.begin();
  if (!widths && t.width_multiple > 0 && !r.failed()) {
    const std::int64_t width = product(hidden, t.width_multiple);
    r.assume(fmt::format("{} = {} ({} times hidden, class default of {})", other_name ? name : "n_inner",
                         width, t.width_multiple, r.config_class()));
    widths = std::vector<std::int64_t>(at(layers), width);
  }
  if (!widths) {
    r.fail("missing_field", name, fmt::format("{} is missing", name), "the width of the MLP, a whole number");
    return std::vector<std::int64_t>(at(layers), 1);
  }
  for (std::int64_t& width : *widths) {
    if (width == 0) r.fail("out_of_range", name, fmt::format("{} is 0", name), "a width of 1 or more");
    width /= t.width_divisor;
  }
  return *widths;
}

std::int64_t shared_width(ConfigReader& r, const Traits& t, std::int64_t layer, std::int64_t layers,
                          std::int64_t width) {
  switch (t.shared) {
    case SharedExperts::kNone:
      return 0;
    case SharedExperts::kCount:
      return product(r.optional_integer(kSharedCountNames, kExpertsMax).value_or(0), width);
    case SharedExperts::kWidth:
      return r.optional_integer({t.shared_width}, kMlpWidthMax).value_or(0);
    case SharedExperts::kOneDense:
      if (!r.in_file({"num_shared_expert"})) return width;
      return product(r.integer_of_layer({"num_shared_expert"}, layer, layers, kExpertsMax),
                     r.integer(kWidthNames, kMlpWidthMax));
  }
  return 0;
}

}  // namespace

bool rule_holds(ConfigReader& r, const char* rule) {
  const std::string_view text = rule;
  if (text.empty()) return false;
  return text == "always" || r.flag({rule});
}

std::int64_t norm_size(NormKind kind, std::int64_t hidden) {
  switch (kind) {
    case NormKind::kRms:
    case NormKind::kLayerNoBias:
      return hidden;
    case NormKind::kLayer:
      return product(2, hidden);
    case NormKind::kNone:
      return 0;
  }
  return 0;
}

std::int64_t read_size(ConfigReader& r, const Traits& t, Model& model) {
  const std::int64_t layers = r.integer(kLayerNames, kLayersMax);
  model.hidden = r.integer(kHiddenNames, kWidthMax);
  model.vocab = r.integer(kVocabularyNames, kVocabularyMax);
  model.max_positions = r.optional_integer(kPositionNames, kPositionsMax).value_or(0);
  model.final_norm_parameters = norm_size(t.norm, model.hidden);
  if (t.learned_positions) {
    if (model.max_positions == 0) (void)r.integer(kPositionNames, kPositionsMax);
    model.learned_positions = model.max_positions + t.extra_positions;
  }
  if (t.embedding_norm) model.other_parameters = norm_size(t.norm, model.hidden);
  if (rule_holds(r, t.head_bias)) model.other_parameters = sum(model.other_parameters, model.vocab);
  const int norms = rule_holds(r, t.one_norm_if) ? 1 : t.layer_norms;
  Layer layer;
  layer.norm_parameters = product(norm_size(t.norm, model.hidden), norms);
  model.layers.assign(r.failed() ? 1 : at(layers), layer);
  return static_cast<std::int64_t>(model.layers.size());
}

std::int64_t read_heads_total(ConfigReader& r) { return r.integer(kHeadNames, kHeadsMax); }

std::int64_t read_head_dim(ConfigReader& r, std::int64_t hidden, std::int64_t heads) {
  if (const auto given = r.optional_integer(kHeadDimNames, kWidthMax, 1)) return *given;
  if (hidden % heads != 0)
    r.fail("out_of_range", "num_attention_heads",
           fmt::format("{} heads do not divide hidden size {}", heads, hidden),
           "a divisor of the hidden size, or a head_dim");
  return r.integer_or(kHeadDimNames, kWidthMax, std::max<std::int64_t>(1, hidden / heads), "hidden / heads");
}

Heads read_heads(ConfigReader& r, const Traits& t, std::int64_t hidden, std::int64_t layers) {
  Heads out;
  out.heads = read_heads_total(r);
  out.head_dim = read_head_dim(r, hidden, out.heads);
  if (rule_holds(r, t.kv_one_if)) {
    out.kv_heads.assign(at(layers), 1);
  } else if (const auto by_layer = r.integers_by_layer(kKvHeadNames, layers, kHeadsMax)) {
    out.kv_heads = *by_layer;
  } else {
    out.kv_heads.assign(at(layers), r.integer_or(kKvHeadNames, kHeadsMax, out.heads, "num_attention_heads"));
  }
  for (const std::int64_t kv : out.kv_heads)
    if (kv < 1 || out.heads % kv != 0)
      r.fail("out_of_range", *kKvHeadNames.begin(),
             fmt::format("{} key-value heads for {} heads", kv, out.heads),
             "a divisor of num_attention_heads");
  return out;
}

Attention attention_of(ConfigReader& r, const Traits& t, const Heads& heads, std::int64_t layer) {
  Attention a;
  a.heads = heads.heads;
  a.kv_heads = heads.kv_heads[at(layer)];
  a.head_dim = heads.head_dim;
  a.q_bias = a.kv_bias = rule_holds(r, t.qkv_bias);
  a.out_bias = rule_holds(r, t.out_bias);
  a.output_gate = t.output_gate;
  a.sinks = t.sinks;
  const std::string_view norm = t.qk_norm;
  const auto colon = norm.find(':');
  if (norm.empty() || (colon != std::string_view::npos && !r.flag({t.qk_norm + colon + 1}))) return a;
  a.qk_norm = norm.starts_with("per_head") ? QkNorm::kPerHead : QkNorm::kFullWidth;
  return a;
}

std::vector<std::string> read_layer_types(ConfigReader& r, const Traits& t, std::int64_t layers) {
  if (auto types = r.names_by_layer({"layer_types", "layers_block_type"}, layers)) return *types;
  if (t.linear != LinearKind::kNone && !r.failed()) return linear_types(r, layers);
  return window_types(r, t, layers);
}

void set_windows(ConfigReader& r, const Traits& /*t*/, const std::vector<std::string>& types, Model& model) {
  const auto has = [&](const char* kind) {
    return std::find(types.begin(), types.end(), kind) != types.end();
  };
  const std::int64_t window =
      has("sliding_attention") ? r.optional_integer(kWindowNames, kPositionsMax).value_or(0) : 0;
  const std::int64_t chunk =
      has("chunked_attention") ? r.optional_integer({"attention_chunk_size"}, kPositionsMax).value_or(0) : 0;
  for (std::size_t i = 0; i < model.layers.size() && i < types.size(); ++i) {
    auto* attention = std::get_if<Attention>(&model.layers[i].mixer);
    if (attention == nullptr) continue;
    if (types[i] == "sliding_attention") attention->window = window;
    if (types[i] == "chunked_attention") attention->chunk = chunk;
  }
}

MoeMlp read_experts(ConfigReader& r, const Traits& t, std::int64_t layer, std::int64_t layers) {
  MoeMlp m;
  m.gated = t.gated;
  m.experts = r.integer_of_layer(kExpertNames, layer, layers, kExpertsMax);
  m.top_k = r.integer_of_layer(kTopKNames, layer, layers, kExpertsMax);
  m.width = r.integer_of_layer({t.expert_width}, layer, layers, kMlpWidthMax);
  m.shared_width = shared_width(r, t, layer, layers, m.width);
  m.shared_gate = t.shared_gate && m.shared_width > 0;
  m.expert_bias = t.expert_bias;
  m.router_bias = t.router_bias;
  m.score_correction = rule_holds(r, t.score_correction);
  if (m.top_k < 1 || m.top_k > m.experts)
    r.fail("out_of_range", *kTopKNames.begin(), fmt::format("{} of {} experts a token", m.top_k, m.experts),
           "from 1 to the number of experts");
  if (m.width < 1)
    r.fail("out_of_range", t.expert_width, fmt::format("{} is {}", t.expert_width, m.width), "1 or more");
  return m;
}

void set_mlps(ConfigReader& r, const Traits& t, Model& model) {
  const std::int64_t layers = static_cast<std::int64_t>(model.layers.size());
  const bool may_have_experts = t.moe != MoeLayers::kNone;
  // A mixture class without experts is dense throughout (n_routed_experts null, num_experts 0 or 1 in Jamba).
  std::vector<bool> sparse(at(layers), false);
  if (may_have_experts) {
    const auto experts = r.integers_by_layer(kExpertNames, layers, kExpertsMax);
    sparse = sparse_layers(r, t, layers);
    const std::int64_t least = t.moe == MoeLayers::kPeriodOffset ? 2 : 1;
    for (std::int64_t i = 0; i < layers; ++i)
      if (!experts || (*experts)[at(i)] < least) sparse[at(i)] = false;
    if (!experts && !r.failed())
      r.assume(fmt::format("no experts: {} is null or missing, all layers dense", *kExpertNames.begin()));
  }
  const bool any_dense = std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  const auto widths = any_dense ? dense_widths(r, t, model.hidden, layers) : std::vector<std::int64_t>();
  const bool bias = rule_holds(r, t.mlp_bias);
  for (std::int64_t i = 0; i < layers && !r.failed(); ++i) {
    if (sparse[at(i)])
      model.layers[at(i)].mlp = read_experts(r, t, i, layers);
    else
      model.layers[at(i)].mlp = DenseMlp{widths[at(i)], t.gated, bias};
  }
}

void add_mtp(ConfigReader& r, const Traits& t, Model& model) {
  if (r.failed() || model.layers.empty()) return;
  const std::int64_t modules = r.optional_integer(kMtpNames, kLayersMax).value_or(0);
  if (r.in_file({"use_mtp"}) && !r.flag({"use_mtp"})) return;
  const std::int64_t layers_each = r.optional_integer({"mtp_transformer_layers"}, kLayersMax).value_or(1);
  if (modules == 0) return;
  model.mtp_layers = product(modules, layers_each);
  const std::int64_t joined = product(2, model.hidden, model.hidden);
  const std::int64_t one = sum(product(layers_each, layer_parameters(model, model.layers.back())), joined,
                               product(t.mtp_norms, norm_size(t.norm, model.hidden)));
  const std::int64_t tables = product(t.mtp_tables, model.vocab, model.hidden);
  model.extras.push_back({"mtp", product(modules, sum(one, tables)), product(modules, one)});
}

void build_decoder(ConfigReader& r, const Traits& t, Model& model) {
  const std::int64_t layers = read_size(r, t, model);
  if (r.failed()) return;
  const std::vector<std::string> types = read_layer_types(r, t, layers);
  if (r.failed()) return;
  set_mixers(r, t, types, model);
  set_windows(r, t, types, model);
  set_mlps(r, t, model);
  add_mtp(r, t, model);
}

}  // namespace shardplan
