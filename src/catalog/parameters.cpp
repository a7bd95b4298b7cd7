#include "catalog/parameters.h"

#include <algorithm>

#include "catalog/saturating.h"

namespace shardplan {
namespace {

/// Collects the weights of one layer; a weight of no parameters is left out.
class Weights {
 public:
  void matrix(const char* name, std::int64_t parameters, Cut cut) { add({name, parameters, cut, true}); }
  void vector(const char* name, std::int64_t parameters, Cut cut) { add({name, parameters, cut, false}); }
  std::vector<Weight> take() { return std::move(list_); }

 private:
  void add(Weight weight) {
    if (weight.parameters > 0) list_.push_back(weight);
  }
  std::vector<Weight> list_;
};

std::int64_t qk_norm_parameters(const Attention& a) {
  const std::int64_t keys = a.shares_kv ? 0 : 1;
  switch (a.qk_norm) {
    case QkNorm::kNone:
      return 0;
    case QkNorm::kPerHead:
      return product(a.head_dim, 1 + keys);
    case QkNorm::kFullWidth:
      return product(a.head_dim, sum(a.heads, product(a.kv_heads, keys)));
  }
  return 0;
}

void add_mixer(Weights& out, std::int64_t hidden, const Attention& a) {
  const std::int64_t query = product(a.heads, a.head_dim);
  const std::int64_t kv = a.shares_kv ? 0 : product(a.kv_heads, a.head_dim);
  out.matrix("attention.query", product(hidden, query), Cut::kTensor);
  if (a.output_gate) out.matrix("attention.gate", product(hidden, query), Cut::kTensor);
  out.matrix("attention.key", product(hidden, kv), Cut::kTensor);
  if (!a.key_is_value) out.matrix("attention.value", product(hidden, kv), Cut::kTensor);
  out.matrix("attention.output", product(query, hidden), Cut::kTensor);
  if (a.q_bias) out.vector("attention.query_bias", product(query, a.output_gate ? 2 : 1), Cut::kTensor);
  if (a.kv_bias) out.vector("attention.key_value_bias", product(kv, a.key_is_value ? 1 : 2), Cut::kTensor);
  if (a.out_bias) out.vector("attention.output_bias", hidden, Cut::kReplicated);
  out.vector("attention.qk_norm", qk_norm_parameters(a), Cut::kReplicated);
  if (a.sinks) out.vector("attention.sinks", a.heads, Cut::kTensor);
}

void add_mixer(Weights& out, std::int64_t hidden, const LatentAttention& a) {
  const std::int64_t query = product(a.heads, sum(a.nope_dim, a.rope_dim));
  const std::int64_t latent = sum(a.kv_rank, a.rope_dim);
  if (a.q_rank > 0) {
    out.matrix("attention.query_down", product(hidden, a.q_rank), Cut::kReplicated);
    out.vector("attention.query_norm", a.q_rank, Cut::kReplicated);
    out.matrix("attention.query_up", product(a.q_rank, query), Cut::kTensor);
  } else {
    out.matrix("attention.query", product(hidden, query), Cut::kTensor);
  }
  out.matrix("attention.kv_down", product(hidden, latent), Cut::kReplicated);
  out.vector("attention.kv_norm", a.kv_rank, Cut::kReplicated);
  out.matrix("attention.kv_up", product(a.kv_rank, a.heads, sum(a.nope_dim, a.value_dim)), Cut::kTensor);
  out.matrix("attention.output", product(a.heads, a.value_dim, hidden), Cut::kTensor);
  if (a.bias) out.vector("attention.bias", sum(a.q_rank, latent, hidden), Cut::kReplicated);
  if (a.index_heads == 0) return;
  out.matrix("indexer.query", product(a.q_rank, a.index_heads, a.index_dim), Cut::kReplicated);
  out.matrix("indexer.key", product(hidden, a.index_dim), Cut::kReplicated);
  out.matrix("indexer.weights", product(hidden, a.index_heads), Cut::kReplicated);
  out.vector("indexer.key_norm", product(2, a.index_dim), Cut::kReplicated);
}

void add_mixer(Weights& out, std::int64_t hidden, const Mamba2& m) {
  const std::int64_t inner = product(m.heads, m.head_dim);
  const std::int64_t convolved = sum(inner, product(2, m.groups, m.state));
  const std::int64_t projected = sum(inner, convolved, m.heads);
  out.matrix("mamba.in", product(hidden, projected), Cut::kTensor);
  out.matrix("mamba.out", product(inner, hidden), Cut::kTensor);
  if (m.projection_bias) {
    out.vector("mamba.in_bias", projected, Cut::kTensor);
    out.vector("mamba.out_bias", hidden, Cut::kReplicated);
  }
  out.vector("mamba.conv", product(convolved, sum(m.conv_kernel, m.conv_bias ? 1 : 0)), Cut::kTensor);
  out.vector("mamba.state", product(3, m.heads), Cut::kTensor);  // decay, step bias, skip: one each a head
  out.vector("mamba.norm", inner, Cut::kTensor);
}

void add_mixer(Weights& out, std::int64_t hidden, const GatedDeltaNet& d) {
  const std::int64_t keys = product(d.key_heads, d.key_dim);
  const std::int64_t values = product(d.value_heads, d.value_dim);
  const std::int64_t convolved = sum(product(2, keys), values);
  out.matrix("delta.query_key_value", product(hidden, convolved), Cut::kTensor);
  out.matrix("delta.gate", product(hidden, values), Cut::kTensor);
  out.matrix("delta.beta_alpha", product(2, hidden, d.value_heads), Cut::kTensor);
  out.matrix("delta.output", product(values, hidden), Cut::kTensor);
  out.vector("delta.conv", product(convolved, d.conv_kernel), Cut::kTensor);
  out.vector("delta.state", product(2, d.value_heads), Cut::kTensor);
  out.vector("delta.norm", d.value_dim, Cut::kReplicated);
}

void add_mixer(Weights& out, std::int64_t /*hidden*/, const OtherMixer& m) {
  out.matrix("mixer", std::max<std::int64_t>(0, m.parameters - m.replicated), Cut::kTensor);
  out.matrix("mixer.replicated", std::min(m.replicated, m.parameters), Cut::kReplicated);
}

void add_mixer(Weights&, std::int64_t, const NoMixer&) {}

void add_mlp(Weights& out, std::int64_t hidden, const DenseMlp& m) {
  const std::int64_t up = product(m.width, m.gated ? 2 : 1);
  out.matrix(m.gated ? "mlp.gate_up" : "mlp.up", product(hidden, up), Cut::kTensor);
  out.matrix("mlp.down", product(m.width, hidden), Cut::kTensor);
  if (!m.bias) return;
  out.vector("mlp.up_bias", up, Cut::kTensor);
  out.vector("mlp.down_bias", hidden, Cut::kReplicated);
}

void add_mlp(Weights& out, std::int64_t hidden, const MoeMlp& m) {
  const std::int64_t wide = m.latent > 0 ? m.latent : hidden;
  const std::int64_t ups = m.gated ? 2 : 1;
  out.matrix("moe.router", product(hidden, m.experts), Cut::kReplicated);
  if (m.router_bias) out.vector("moe.router_bias", m.experts, Cut::kReplicated);
  if (m.score_correction) out.vector("moe.score_correction", m.experts, Cut::kReplicated);
  if (m.latent > 0) {
    out.matrix("moe.latent_down", product(hidden, m.latent), Cut::kReplicated);
    out.matrix("moe.latent_up", product(m.latent, hidden), Cut::kReplicated);
  }
  out.matrix(m.gated ? "moe.experts_gate_up" : "moe.experts_up", product(m.experts, wide, ups, m.width),
             Cut::kExpert);
  out.matrix("moe.experts_down", product(m.experts, m.width, wide), Cut::kExpert);
  if (m.expert_bias)
    out.vector("moe.experts_bias", product(m.experts, sum(product(ups, m.width), wide)), Cut::kExpert);
  out.matrix(m.gated ? "moe.shared_gate_up" : "moe.shared_up", product(hidden, ups, m.shared_width),
             Cut::kTensor);
  out.matrix("moe.shared_down", product(m.shared_width, hidden), Cut::kTensor);
  if (m.shared_gate) out.matrix("moe.shared_gate", hidden, Cut::kReplicated);
}

void add_mlp(Weights&, std::int64_t, const NoMlp&) {}

std::int64_t total_of(const std::vector<Weight>& weights) {
  std::int64_t total = 0;
  for (const Weight& weight : weights) total = sum(total, weight.parameters);
  return total;
}

/// What one token uses of a weight: of the routed experts only the top k.
std::int64_t active_of(const Weight& weight, const Layer& layer) {
  const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
  if (weight.cut != Cut::kExpert || moe == nullptr || moe->experts <= 0) return weight.parameters;
  return product(weight.parameters / moe->experts, std::min(moe->top_k, moe->experts));
}

}  // namespace

std::vector<Weight> layer_weights(const Model& model, const Layer& layer) {
  Weights out;
  std::visit([&](const auto& mixer) { add_mixer(out, model.hidden, mixer); }, layer.mixer);
  std::visit([&](const auto& mlp) { add_mlp(out, model.hidden, mlp); }, layer.mlp);
  out.vector("norms", layer.norm_parameters, Cut::kReplicated);
  out.vector("other", layer.other_parameters, Cut::kReplicated);
  return out.take();
}

std::vector<Weight> edge_weights(const Model& model) {
  Weights out;
  const std::int64_t table = product(model.vocab, model.hidden);
  if (model.has_embeddings) {
    out.vector("embedding", table, Cut::kTensor);
    if (!model.tied_embeddings) out.matrix("head", table, Cut::kTensor);
  }
  out.vector("positions", product(model.learned_positions, model.hidden), Cut::kReplicated);
  out.vector("final_norm", model.final_norm_parameters, Cut::kReplicated);
  out.vector("other", model.other_parameters, Cut::kReplicated);
  return out.take();
}

std::int64_t layer_parameters(const Model& model, const Layer& layer) {
  return total_of(layer_weights(model, layer));
}

ParameterCount count_parameters(const Model& model) {
  ParameterCount count;
  count.total = total_of(edge_weights(model));
  count.active = count.total;
  const Layer* last = nullptr;
  std::int64_t last_total = 0, last_active = 0;
  for (const Layer& layer : model.layers) {
    if (last == nullptr || !(layer == *last)) {
      last = &layer;
      last_total = last_active = 0;
      for (const Weight& weight : layer_weights(model, layer)) {
        last_total = sum(last_total, weight.parameters);
        last_active = sum(last_active, active_of(weight, layer));
      }
    }
    count.total = sum(count.total, last_total);
    count.active = sum(count.active, last_active);
  }
  const std::int64_t table = model.has_embeddings ? product(model.vocab, model.hidden) : 0;
  count.active_without_embedding = std::max<std::int64_t>(0, count.active - table);
  return count;
}

double state_parameters(const Model& model) {
  if (model.declared_parameters) return *model.declared_parameters;
  return static_cast<double>(count_parameters(model).total);
}

}  // namespace shardplan
