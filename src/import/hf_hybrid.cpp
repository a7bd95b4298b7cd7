// Builders of hybrids: Nemotron-H, Mamba-2, Jamba, DBRX's nested config, DeepSeek-V4's compressed attention.
#include <fmt/format.h>

#include <algorithm>

#include "catalog/parameters.h"
#include "catalog/saturating.h"
#include "import/hf_decoder.h"

namespace shardplan {

using nlohmann::json;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct NemotronParts {
  Mamba2 mamba;
  Attention attention;
  DenseMlp dense;
  MoeMlp moe;
};

Mamba2 read_nemotron_mamba(ConfigReader& r) {
  Mamba2 m;
  m.heads = r.integer({"mamba_num_heads"}, kHeadsMax);
  m.head_dim = r.integer({"mamba_head_dim"}, kWidthMax);
  m.groups = r.integer({"n_groups", "mamba_n_groups"}, kHeadsMax);
  m.state = r.integer({"ssm_state_size"}, kWidthMax);
  m.conv_kernel = r.integer({"conv_kernel", "mamba_d_conv"}, kWidthMax);
  m.conv_bias = r.flag({"use_conv_bias", "mamba_conv_bias"});
  m.projection_bias = r.flag({"use_bias", "mamba_proj_bias"});
  return m;
}

MoeMlp read_nemotron_moe(ConfigReader& r, bool is_used) {
  MoeMlp m{.gated = false, .score_correction = true};
  if (!is_used) return m;
  m.experts = r.integer({"n_routed_experts", "num_local_experts"}, kExpertsMax);
  m.top_k = r.integer({"num_experts_per_tok"}, kExpertsMax);
  m.width = r.integer({"moe_intermediate_size"}, kMlpWidthMax);
  if (r.optional_integer({"n_shared_experts"}, kExpertsMax).value_or(0) > 0)
    m.shared_width = r.integer({"moe_shared_expert_intermediate_size"}, kMlpWidthMax);
  m.latent = r.optional_integer({"moe_latent_size"}, kWidthMax).value_or(0);
  if (m.top_k > m.experts)
    r.fail("out_of_range", "num_experts_per_tok", fmt::format("{} of {} experts", m.top_k, m.experts),
           "at most all");
  return m;
}

/// One letter a layer: M Mamba-2, * attention, - MLP, E experts. Newer files spell the kinds out in a list.
std::string letters_of(const json& kinds) {
  std::string out;
  for (const json& kind : kinds) {
    const std::string name = kind.is_string() ? kind.get<std::string>() : std::string();
    out += name == "mamba" || name == "linear_attention"     ? 'M'
           : name == "attention" || name == "full_attention" ? '*'
           : name == "mlp"                                   ? '-'
           : name == "moe"                                   ? 'E'
                                                             : '?';
  }
  return out;
}

std::string nemotron_pattern(ConfigReader& r) {
  if (const json* kinds = r.list({"layers_block_type", "layer_types"})) return letters_of(*kinds);
  std::string pattern = r.text({"hybrid_override_pattern"});
  if (pattern.empty())
    r.fail("missing_field", "hybrid_override_pattern", "hybrid_override_pattern is missing",
           "one letter a layer: M, *, - or E, or a list layers_block_type");
  return pattern;
}

Layer nemotron_layer(ConfigReader& r, char kind, const NemotronParts& parts, std::int64_t hidden) {
  Layer layer;
  layer.norm_parameters = hidden;
  switch (kind) {
    case 'M':
      layer.mixer = parts.mamba;
      break;
    case '*':
      layer.mixer = parts.attention;
      break;
    case '-':
      layer.mlp = parts.dense;
      break;
    case 'E':
      layer.mlp = parts.moe;
      break;
    default:
      r.fail("out_of_range", "hybrid_override_pattern", "an unknown kind of layer in the pattern",
             "letters M, *, - and E");
  }
  return layer;
}

/// The layers repeat kinds of the main pattern, whose shapes have been read.
void add_nemotron_mtp(ConfigReader& r, const std::string& main_pattern, const NemotronParts& parts,
                      Model& model) {
  const std::int64_t modules = r.optional_integer({"num_nextn_predict_layers"}, kLayersMax).value_or(0);
  const json* kinds = r.list({"mtp_layers_block_type"});
  const std::string pattern = kinds != nullptr ? letters_of(*kinds) : r.text({"mtp_hybrid_override_pattern"});
  if (modules == 0 || r.failed()) return;
  if (pattern.empty()) return r.assume("mtp_hybrid_override_pattern is missing: MTP layers counted as 0");
  if (pattern.find_first_not_of(main_pattern) != std::string::npos)
    return r.fail("unsupported", "mtp_hybrid_override_pattern", "a kind of layer that the main layers lack",
                  "kinds of hybrid_override_pattern");
  std::int64_t one = sum(product(2, model.hidden, model.hidden), product(3, model.hidden));
  for (const char kind : pattern)
    one = sum(one, layer_parameters(model, nemotron_layer(r, kind, parts, model.hidden)));
  model.mtp_layers = modules;
  model.extras.push_back({"mtp", product(modules, one), product(modules, one)});
  r.assume("mtp: counted as its pattern's layers, a projection of two hidden states and three norms");
}

/// DeepSeek-V4 attention: low-rank query, one key-value head of head_dim, grouped low-rank output, sinks;
/// layers with ratio 4 add a compressor of overlapping windows and an indexer, layers with 128 a plain
/// compressor.
struct CompressedAttention {
  std::int64_t heads = 0, head_dim = 0, q_rank = 0, o_groups = 0, o_rank = 0, index_heads = 0, index_dim = 0;
};

std::int64_t compressor(std::int64_t hidden, std::int64_t width, std::int64_t ratio, std::int64_t norm) {
  return sum(product(2, hidden, width), product(ratio, width), norm);
}

OtherMixer compressed(const CompressedAttention& c, std::int64_t hidden, std::int64_t ratio) {
  constexpr std::int64_t kOverlapping = 4;
  std::int64_t replicated = sum(product(hidden, c.q_rank), c.q_rank, product(hidden, c.head_dim), c.head_dim);
  if (ratio == kOverlapping) {
    replicated = sum(replicated, compressor(hidden, product(2, c.head_dim), ratio, c.head_dim),
                     compressor(hidden, product(2, c.index_dim), ratio, c.index_dim),
                     sum(product(c.q_rank, c.index_heads, c.index_dim), product(hidden, c.index_heads)));
  } else if (ratio > 0) {
    replicated = sum(replicated, compressor(hidden, c.head_dim, ratio, c.head_dim));
  }
  const std::int64_t query = product(c.heads, c.head_dim);
  const std::int64_t cut = sum(product(c.q_rank, query), product(query / c.o_groups, c.o_groups, c.o_rank),
                               product(c.o_groups, c.o_rank, hidden), c.heads);
  return {"deepseek_v4_compressed", c.heads, c.head_dim, 1, sum(cut, replicated), replicated};
}

/// Compression ratio of each layer; files list the MTP layer too.
std::vector<std::int64_t> compress_ratios(ConfigReader& r, std::int64_t layers) {
  std::vector<std::int64_t> out;
  if (const json* listed = r.list({"compress_ratios"})) {
    for (const json& ratio : *listed) {
      const auto number = whole_number(ratio);
      if (!number || (*number != 0 && *number != 4 && *number != 128)) {
        r.fail("out_of_range", "compress_ratios", fmt::format("an entry is {}", shown(ratio)), "0, 4 or 128");
        break;
      }
      out.push_back(*number);
    }
    if (static_cast<std::int64_t>(out.size()) < layers)
      r.fail("wrong_length", "compress_ratios", fmt::format("{} entries", out.size()),
             fmt::format("{} or more", layers));
  } else if (const auto types = r.names_by_layer({"layer_types"}, layers)) {
    for (const std::string& type : *types)
      out.push_back(type == "sliding_attention" ? 0 : type == "compressed_sparse_attention" ? 4 : 128);
  } else {
    for (std::int64_t i = 0; i < layers; ++i) out.push_back(i >= 2 && i % 2 == 1 ? 4 : 128);
    r.assume(fmt::format("compress_ratios = 128, 128, then 128 and 4 in turn (class default of {})",
                         r.config_class()));
  }
  if (static_cast<std::int64_t>(out.size()) < layers) out.resize(at(layers), 0);
  return out;
}

/// A module is a layer with its own ratio (listed after the others) and head of streams, two projections,
/// three norms.
void add_deepseek_v4_mtp(ConfigReader& r, const CompressedAttention& c,
                         const std::vector<std::int64_t>& ratios, std::int64_t head, Model& model) {
  const std::int64_t modules = r.optional_integer({"num_nextn_predict_layers"}, kLayersMax).value_or(0);
  if (modules == 0 || r.failed()) return;
  const std::size_t layers = model.layers.size();
  Layer layer = model.layers.back();
  layer.mixer = compressed(c, model.hidden, ratios.size() > layers ? ratios[layers] : 0);
  std::get<MoeMlp>(layer.mlp).score_correction = true;
  const std::int64_t one = sum(layer_parameters(model, layer), product(2, model.hidden, model.hidden),
                               product(3, model.hidden), head);
  model.mtp_layers = modules;
  model.extras.push_back({"mtp", product(modules, one), product(modules, one)});
}

CompressedAttention read_compressed(ConfigReader& r) {
  CompressedAttention c;
  c.heads = read_heads_total(r);
  c.head_dim = r.integer({"head_dim"}, kWidthMax);
  c.q_rank = r.integer({"q_lora_rank"}, kWidthMax);
  c.o_groups = r.integer({"o_groups"}, kHeadsMax);
  c.o_rank = r.integer({"o_lora_rank"}, kWidthMax);
  c.index_heads = r.integer({"index_n_heads"}, kHeadsMax);
  c.index_dim = r.integer({"index_head_dim"}, kWidthMax);
  if (c.heads % c.o_groups != 0)
    r.fail("out_of_range", "o_groups", fmt::format("{} groups for {} heads", c.o_groups, c.heads),
           "a divisor of the heads");
  return c;
}

}  // namespace

void build_nemotron_h(ConfigReader& r, const Traits& t, Model& model) {
  const std::string pattern = nemotron_pattern(r);
  if (r.failed()) return;
  Traits traits = t;
  const std::int64_t layers = static_cast<std::int64_t>(pattern.size());
  const auto stated = r.optional_integer({"num_hidden_layers"}, kLayersMax);
  if (layers > kLayersMax || (stated && *stated != layers))
    return r.fail("wrong_length", "hybrid_override_pattern", fmt::format("the pattern has {} layers", layers),
                  fmt::format("num_hidden_layers = {}", stated.value_or(kLayersMax)));
  model.hidden = r.integer({"hidden_size"}, kWidthMax);
  model.vocab = r.integer({"vocab_size"}, kVocabularyMax);
  model.max_positions = r.optional_integer({"max_position_embeddings"}, kPositionsMax).value_or(0);
  model.final_norm_parameters = model.hidden;
  NemotronParts parts;
  const auto has = [&](char kind) { return pattern.find(kind) != std::string::npos; };
  if (has('M')) parts.mamba = read_nemotron_mamba(r);
  if (has('*')) parts.attention = attention_of(r, traits, read_heads(r, traits, model.hidden, 1), 0);
  if (has('-')) parts.dense = {r.integer({"intermediate_size"}, kMlpWidthMax), false, r.flag({"mlp_bias"})};
  parts.moe = read_nemotron_moe(r, has('E'));
  for (const char kind : pattern)
    if (!r.failed()) model.layers.push_back(nemotron_layer(r, kind, parts, model.hidden));
  add_nemotron_mtp(r, pattern, parts, model);
}

void build_mamba2(ConfigReader& r, const Traits& t, Model& model) {
  const std::int64_t layers = read_size(r, t, model);
  Mamba2 m;
  m.heads = r.integer({"num_heads"}, kHeadsMax);
  m.head_dim = r.integer({"head_dim"}, kWidthMax);
  m.groups = r.integer({"n_groups"}, kHeadsMax);
  m.state = r.integer({"state_size"}, kWidthMax);
  m.conv_kernel = r.integer({"conv_kernel"}, kWidthMax);
  m.conv_bias = r.flag({"use_conv_bias"});
  m.projection_bias = r.flag({"use_bias"});
  const std::int64_t inner = product(r.integer({"expand"}, kHeadsMax), model.hidden);
  if (product(m.heads, m.head_dim) != inner)
    r.fail("out_of_range", "num_heads",
           fmt::format("{} heads of {} are not expand * hidden_size", m.heads, m.head_dim),
           fmt::format("num_heads * head_dim = {}", inner));
  for (std::int64_t i = 0; i < layers; ++i) model.layers[at(i)].mixer = m;
}

void build_jamba(ConfigReader& r, const Traits& t, Model& model) {
  build_decoder(r, t, model);
  if (r.failed()) return;
  const std::int64_t inner = product(r.integer({"mamba_expand"}, kHeadsMax), model.hidden);
  const std::int64_t state = r.integer({"mamba_d_state"}, kWidthMax);
  const std::int64_t kernel = r.integer({"mamba_d_conv"}, kWidthMax);
  const bool rank_given = r.in_file({"mamba_dt_rank"}) && !r.raw()["mamba_dt_rank"].is_string();
  const std::int64_t rank = rank_given ? r.integer({"mamba_dt_rank"}, kWidthMax) : (model.hidden + 15) / 16;
  if (!rank_given)
    r.assume(fmt::format("mamba_dt_rank = {} (hidden / 16, class default of {})", rank, r.config_class()));
  const bool conv_bias = r.flag({"mamba_conv_bias"}), bias = r.flag({"mamba_proj_bias"});
  // Mamba-1: in, out, x and dt projections, convolution, decay and skip, norms of dt, B and C.
  const std::int64_t matrices =
      sum(product(3, model.hidden, inner), product(inner, rank + 2 * state), product(rank, inner));
  const std::int64_t vectors =
      sum(inner, product(inner, kernel + (conv_bias ? 1 : 0)), product(inner, state + 1));
  const std::int64_t biases = bias ? sum(product(2, inner), model.hidden) : 0;
  const std::int64_t norms = rank + 2 * state;
  const OtherMixer mamba{"mamba1", 0, 0, 0, sum(matrices, vectors, sum(biases, norms)), norms};
  const std::int64_t period = r.integer({"attn_layer_period"}, kLayersMax);
  const std::int64_t offset = r.integer({"attn_layer_offset"}, kLayersMax, 0);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (static_cast<std::int64_t>(i) % period != offset) model.layers[i].mixer = mamba;
}

void build_dbrx(ConfigReader& r, const Traits& t, Model& model) {
  const json* attention = r.object({"attn_config"});
  const json* ffn = r.object({"ffn_config"});
  if (attention == nullptr || ffn == nullptr)
    return r.fail("missing_field", attention == nullptr ? "attn_config" : "ffn_config",
                  "attn_config or ffn_config is missing", "an object");
  const std::int64_t layers = read_size(r, t, model);
  if (r.failed()) return;
  const json none = json::object();
  std::vector<std::string> ignored;
  const std::string file = r.where("").substr(0, r.where("").find(": "));
  ConfigReader ra(*attention, {file, r.path() + "attn_config.", "DbrxAttentionConfig"}, none, ignored);
  ConfigReader rf(*ffn, {file, r.path() + "ffn_config.", "DbrxFFNConfig"}, none, ignored);
  Heads heads;
  heads.heads = read_heads_total(r);
  heads.head_dim = read_head_dim(r, model.hidden, heads.heads);
  heads.kv_heads.assign(at(layers), ra.integer({"kv_n_heads"}, kHeadsMax));
  MoeMlp moe{.experts = rf.integer({"moe_num_experts"}, kExpertsMax),
             .top_k = rf.integer({"moe_top_k"}, kExpertsMax)};
  moe.width = rf.integer({"ffn_hidden_size"}, kMlpWidthMax);
  if (moe.top_k > moe.experts)
    rf.fail("out_of_range", "moe_top_k", fmt::format("{} experts a token", moe.top_k), "at most all");
  if (heads.heads % heads.kv_heads.front() != 0)
    ra.fail("out_of_range", "kv_n_heads", fmt::format("{} for {} heads", heads.kv_heads.front(), heads.heads),
            "a divisor");
  if (ra.failed()) return r.fail_with(ra.error());
  if (rf.failed()) return r.fail_with(rf.error());
  for (std::int64_t i = 0; i < layers; ++i) {
    model.layers[at(i)].mixer = attention_of(r, t, heads, i);
    model.layers[at(i)].mlp = moe;
  }
}

void build_deepseek_v4(ConfigReader& r, const Traits& t, Model& model) {
  const std::int64_t layers = read_size(r, t, model);
  if (r.failed()) return;
  const CompressedAttention c = read_compressed(r);
  const auto ratios = compress_ratios(r, layers);
  MoeMlp moe = read_experts(r, t, 0, layers);
  const std::int64_t hashed = r.integer({"num_hash_layers"}, kLayersMax, 0);
  const std::int64_t streams = r.integer({"hc_mult"}, kHeadsMax);
  if (r.failed()) return;
  // Hyper-connections: a map of all streams, a base and three scales, before attention and before the
  // experts.
  const std::int64_t outputs = product(sum(2, streams), streams);
  const std::int64_t connection = sum(product(outputs, streams, model.hidden), outputs, 3);
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer& layer = model.layers[at(i)];
    layer.mixer = compressed(c, model.hidden, ratios[at(i)]);
    moe.score_correction = i >= hashed;  // the first layers route by a fixed table of tokens
    layer.mlp = moe;
    layer.other_parameters = product(2, connection);
  }
  const std::int64_t head = sum(product(streams, streams, model.hidden), streams, 1);
  model.other_parameters = sum(model.other_parameters, head);
  const std::int64_t table = product(std::min(hashed, layers), model.vocab, moe.top_k);
  if (table > 0) model.extras.push_back({"hash_routing_table", table, table});
  add_deepseek_v4_mtp(r, c, ratios, head, model);
}

}  // namespace shardplan
