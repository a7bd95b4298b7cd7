#include "graph/layer_ops.h"

#include <algorithm>

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

constexpr auto kUp = static_cast<std::uint8_t>(Module::kMlaUpProjection);
constexpr auto kDense = static_cast<std::uint8_t>(Module::kMlp);
constexpr auto kMoe = static_cast<std::uint8_t>(Module::kMoe);
constexpr auto kShared = static_cast<std::uint8_t>(kMoe | static_cast<std::uint8_t>(Module::kSharedExperts));

using targets::kProjections;
constexpr auto kQuery = static_cast<std::uint8_t>(AdapterTarget::kQuery);
constexpr auto kKey = static_cast<std::uint8_t>(AdapterTarget::kKey);
constexpr auto kValue = static_cast<std::uint8_t>(AdapterTarget::kValue);
constexpr auto kOutput = static_cast<std::uint8_t>(AdapterTarget::kOutput);
constexpr auto kGate = static_cast<std::uint8_t>(AdapterTarget::kGate);
constexpr auto kUpward = static_cast<std::uint8_t>(AdapterTarget::kUp);
constexpr auto kDown = static_cast<std::uint8_t>(AdapterTarget::kDown);

/// A product that is one projection, under any of these names.
Gemm adapted(Gemm gemm, std::uint8_t names) {
  gemm.adapted[0] = {names, gemm.out};
  return gemm;
}

/// The first projection of an MLP: gate and up are two where it is gated.
Gemm adapted_mlp(Gemm gemm, double matrices) {
  if (matrices < 2) return adapted(gemm, targets::kMlpInputs);
  gemm.adapted = {AdaptedProduct{kGate, gemm.out / 2}, AdaptedProduct{kUpward, gemm.out / 2}};
  return gemm;
}

void add_attention(const Attention& a, double hidden, LayerOps& ops) {
  const double query = d(a.heads * a.head_dim);
  const double key = a.shares_kv ? 0.0 : d(a.kv_heads * a.head_dim);
  const double value = a.key_is_value ? 0.0 : key;
  const double queries = query * (a.output_gate ? 2.0 : 1.0);
  Gemm qkv{"qkv", hidden, queries + key + value, GemmCut::kColumn};
  qkv.adapted = {AdaptedProduct{kQuery, queries}, AdaptedProduct{kKey, key}, AdaptedProduct{kValue, value}};
  ops.gemms.push_back(qkv);
  ops.gemms.push_back(adapted({"attention out", query, hidden, GemmCut::kRow}, kOutput));
  ops.query_width = query;
  ops.kv_width = 2.0 * d(a.kv_heads * a.head_dim);
  ops.value_width = query;
  ops.mixer_extra_width = a.output_gate ? 2.0 * query : 0.0;  // the gate and the gated output
  ops.heads = d(a.heads);
  ops.attended = d(std::max(a.window, a.chunk));
  ops.qk_dim = ops.value_dim = d(a.head_dim);
  ops.has_attention_core = true;
  ops.qk_norm = a.qk_norm != QkNorm::kNone;
}

void add_latent_attention(const LatentAttention& a, double hidden, LayerOps& ops) {
  const double heads = d(a.heads), qk = d(a.nope_dim + a.rope_dim), value = d(a.value_dim);
  if (a.q_rank > 0) {
    ops.gemms.push_back(adapted({"q down", hidden, d(a.q_rank), GemmCut::kWhole}, kQuery));
    ops.gemms.push_back(adapted({"q up", d(a.q_rank), heads * qk, GemmCut::kColumn, false, kUp}, kQuery));
  } else {
    ops.gemms.push_back(adapted({"q", hidden, heads * qk, GemmCut::kColumn, false, kUp}, kQuery));
  }
  ops.gemms.push_back(
      adapted({"kv down", hidden, d(a.kv_rank + a.rope_dim), GemmCut::kWhole}, kKey | kValue));
  ops.gemms.push_back(adapted(
      {"kv up", d(a.kv_rank), heads * (d(a.nope_dim) + value), GemmCut::kColumn, false, kUp}, kKey | kValue));
  ops.gemms.push_back(adapted({"attention out", heads * value, hidden, GemmCut::kRow}, kOutput));
  if (a.index_heads > 0) {
    ops.gemms.push_back({"indexer q", d(a.q_rank), d(a.index_heads * a.index_dim), GemmCut::kWhole});
    ops.gemms.push_back({"indexer k", hidden, d(a.index_dim + a.index_heads), GemmCut::kWhole});
  }
  ops.query_width = heads * qk;
  ops.kv_width = heads * (qk + value);
  ops.value_width = heads * value;
  ops.latent_attention = true;
  // Both latents before and after their norms, and the shared rotary key.
  ops.latent_width = 2.0 * d(a.q_rank) + 2.0 * d(a.kv_rank) + d(a.rope_dim);
  ops.heads = heads;
  ops.attended = a.index_heads > 0 ? d(a.index_top_k) : 0.0;
  ops.qk_dim = qk;
  ops.value_dim = value;
  ops.has_attention_core = true;
}

void add_mamba(const Mamba2& m, double hidden, LayerOps& ops) {
  const double inner = d(m.heads * m.head_dim), state = d(m.groups * m.state);
  ops.gemms.push_back(
      adapted({"mamba in", hidden, 2.0 * inner + 2.0 * state + d(m.heads), GemmCut::kColumn}, kProjections));
  ops.gemms.push_back(adapted({"mamba out", inner, hidden, GemmCut::kRow}, kOutput));
  ops.value_width = inner;
  // Gate, convolution input and output (x, B, C), step sizes: kept beside the output.
  ops.mixer_extra_width = inner + 2.0 * (inner + 2.0 * state) + d(m.heads);
  ops.heads = d(m.heads);
  // Per token and inner channel: update and read of the state, a multiply-add each.
  ops.linear_state_flops = 2.0 * 2.0 * inner * d(m.state);
}

void add_delta_net(const GatedDeltaNet& g, double hidden, LayerOps& ops) {
  const double key = d(g.key_heads * g.key_dim), value = d(g.value_heads * g.value_dim);
  ops.gemms.push_back(
      adapted({"delta in", hidden, 2.0 * key + 2.0 * value + 2.0 * d(g.value_heads), GemmCut::kColumn},
              kProjections));
  ops.gemms.push_back(adapted({"delta out", value, hidden, GemmCut::kRow}, kOutput));
  ops.value_width = value;
  ops.mixer_extra_width = value + 2.0 * (2.0 * key + value) + 2.0 * d(g.value_heads);
  ops.heads = d(g.value_heads);
  // Per token: read, correct and write a key_dim x value_dim state in each value head.
  ops.linear_state_flops = 2.0 * (2.0 + 1.0) * d(g.value_heads) * d(g.key_dim) * d(g.value_dim);
}

void add_other(const OtherMixer& o, double hidden, LayerOps& ops) {
  // Counted, not modelled: one square-ish product of the mixer's parameters, full attention of its heads.
  ops.gemms.push_back({"mixer", hidden, d(o.parameters) / hidden, GemmCut::kColumn});
  ops.query_width = ops.value_width = d(o.heads * o.head_dim);
  ops.kv_width = 2.0 * d(o.kv_heads * o.head_dim);
  ops.heads = d(o.heads);
  ops.qk_dim = ops.value_dim = d(o.head_dim);
  ops.has_attention_core = true;
}

void add_mlp(const DenseMlp& m, double hidden, LayerOps& ops) {
  ops.mlp_matrices = m.gated ? 2.0 : 1.0;
  ops.mlp_width = d(m.width);
  ops.gemms.push_back(adapted_mlp(
      {"mlp in", hidden, ops.mlp_matrices * d(m.width), GemmCut::kColumn, false, kDense}, ops.mlp_matrices));
  ops.gemms.push_back(adapted({"mlp out", d(m.width), hidden, GemmCut::kRow, false, kDense}, kDown));
}

void add_mlp(const MoeMlp& m, double hidden, LayerOps& ops) {
  ops.mlp_matrices = m.gated ? 2.0 : 1.0;
  ops.experts = d(m.experts);
  ops.top_k = d(m.top_k);
  ops.expert_width = d(m.width);
  ops.shared_width = d(m.shared_width);
  ops.gemms.push_back({"router", hidden, d(m.experts), GemmCut::kWhole, true, kMoe});
  const double routed = m.latent > 0 ? d(m.latent) : hidden;
  ops.routed_width = routed;
  ops.biased_experts = m.expert_bias;
  if (m.latent > 0) {
    ops.gemms.push_back({"to latent", hidden, routed, GemmCut::kWhole, false, kMoe});
    ops.gemms.push_back({"from latent", routed, hidden, GemmCut::kWhole, false, kMoe});
  }
  ops.gemms.push_back(
      adapted_mlp({"expert in", routed, ops.mlp_matrices * d(m.width), GemmCut::kExpertColumn, false, kMoe},
                  ops.mlp_matrices));
  ops.gemms.push_back(adapted({"expert out", d(m.width), routed, GemmCut::kExpertRow, false, kMoe}, kDown));
  if (m.shared_width > 0) {
    ops.gemms.push_back(adapted_mlp(
        {"shared in", hidden, ops.mlp_matrices * d(m.shared_width), GemmCut::kColumn, false, kShared},
        ops.mlp_matrices));
    ops.gemms.push_back(
        adapted({"shared out", d(m.shared_width), hidden, GemmCut::kRow, false, kShared}, kDown));
  }
}

void add_mlp(const NoMlp&, double, LayerOps&) {}

struct AddMixer {
  double hidden;
  LayerOps& ops;
  void operator()(const Attention& a) const { add_attention(a, hidden, ops); }
  void operator()(const LatentAttention& a) const { add_latent_attention(a, hidden, ops); }
  void operator()(const Mamba2& m) const { add_mamba(m, hidden, ops); }
  void operator()(const GatedDeltaNet& g) const { add_delta_net(g, hidden, ops); }
  void operator()(const OtherMixer& o) const { add_other(o, hidden, ops); }
  void operator()(const NoMixer&) const {}
};

}  // namespace

LayerOps layer_ops(const Model& model, const Layer& layer) {
  LayerOps ops;
  const double hidden = d(model.hidden);
  std::visit(AddMixer{hidden, ops}, layer.mixer);
  std::visit([&](const auto& m) { add_mlp(m, hidden, ops); }, layer.mlp);
  for (const Weight& w : layer_weights(model, layer)) {
    const double n = d(w.parameters);
    (w.cut == Cut::kTensor   ? ops.tensor_parameters
     : w.cut == Cut::kExpert ? ops.expert_parameters
                             : ops.replicated_parameters) += n;
  }
  return ops;
}

LayerKinds layer_kinds(const Model& model) {
  LayerKinds result;
  std::vector<const Layer*> distinct;
  for (const Layer& layer : model.layers) {
    const auto known =
        std::find_if(distinct.begin(), distinct.end(), [&](const Layer* l) { return *l == layer; });
    if (known == distinct.end()) {
      result.kinds.push_back(layer_ops(model, layer));
      distinct.push_back(&layer);
      result.kind_of_layer.push_back(static_cast<int>(distinct.size()) - 1);
    } else {
      result.kind_of_layer.push_back(static_cast<int>(known - distinct.begin()));
    }
  }
  result.has_experts = std::any_of(result.kinds.begin(), result.kinds.end(),
                                   [](const LayerOps& kind) { return kind.experts > 0; });
  result.prefix.assign(result.kinds.size(), std::vector<std::int64_t>(model.layers.size() + 1, 0));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (std::size_t k = 0; k < result.kinds.size(); ++k) {
      result.prefix[k][i + 1] =
          result.prefix[k][i] + (result.kind_of_layer[i] == static_cast<int>(k) ? 1 : 0);
    }
  }
  return result;
}

}  // namespace shardplan
