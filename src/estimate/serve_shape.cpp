#include "estimate/serve_shape.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "catalog/parameters.h"

namespace shardplan {
namespace {

constexpr double kBitsOfByte = 8;
constexpr double kStateBytes = 4;  // recurrent states are in 32 bits
// Keys of a sparse-attention indexer: 8 bits, and a scale of 4 bytes for each 128 of them.
constexpr double kIndexScaleBytes = 4, kIndexBlock = 128;

double d(std::int64_t v) { return static_cast<double>(v); }

double ratio_of(std::int64_t whole, std::int64_t parts) { return d(whole) / d(parts); }

/// A rank has at least one key-value head of its own.
double kv_heads_of_rank(const Attention& a, std::int64_t tensor) {
  return std::max(1.0, ratio_of(a.kv_heads, tensor));
}

/// Parameters of a weight on one GPU of a stage.
double on_gpu(const Weight& weight, const Layer& layer, const ServeSplit& split) {
  switch (weight.cut) {
    case Cut::kReplicated:
      return d(weight.parameters);
    case Cut::kExpert:
      return ratio_of(weight.parameters, split.stage_gpus());
    case Cut::kTensor:
      break;
  }
  const std::string_view name = weight.name;
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  if (attention != nullptr && attention->kv_heads > 0 &&
      (name == "attention.key" || name == "attention.value"))
    return ratio_of(weight.parameters, attention->kv_heads) * kv_heads_of_rank(*attention, split.tensor);
  return ratio_of(weight.parameters, split.tensor);
}

double padded(std::int64_t width, std::int64_t multiple) {
  return d((width + multiple - 1) / multiple * multiple);
}

/// By how much kernels that pad the width of experts make them larger.
double expert_padding(const Layer& layer, const ServeFormat& format) {
  const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
  if (moe == nullptr || moe->width == 0) return 1;
  return padded(moe->width, format.expert_multiple) / d(moe->width);
}

using Cache = ServeShape::Cache;

/// What the mixer of one layer keeps of a token: one kind of cache or, beside an indexer, two.
std::vector<Cache> caches_of(const Mixer& mixer, const ServeSplit& split, const ServeFormat& format) {
  const double element = format.cache_bits / kBitsOfByte;
  if (const auto* a = std::get_if<Attention>(&mixer)) {
    const double kept = a->shares_kv ? 0 : (a->key_is_value ? 1 : 2) * kv_heads_of_rank(*a, split.tensor);
    const std::int64_t window = a->window > 0 ? a->window : a->chunk;
    return {{window, 0, kept * d(a->head_dim), element, 2 * d(a->heads * a->head_dim)}};
  }
  if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
    const bool sparse = l->index_heads > 0;
    std::vector<Cache> caches{{0, sparse ? l->index_top_k : 0, d(l->kv_rank + l->rope_dim), element,
                               d(l->heads * (l->nope_dim + l->rope_dim + l->value_dim))}};
    if (sparse) {
      const double bytes = 1 + kIndexScaleBytes / kIndexBlock;
      caches.push_back({0, 0, d(l->index_dim), bytes, d(l->index_heads * l->index_dim)});
    }
    return caches;
  }
  return {};
}

double state_of(const Mixer& mixer, std::int64_t tensor) {
  if (const auto* g = std::get_if<GatedDeltaNet>(&mixer))
    return ratio_of(g->value_heads * g->key_dim * g->value_dim, tensor) * kStateBytes;
  if (const auto* m = std::get_if<Mamba2>(&mixer))
    return ratio_of(m->heads * m->head_dim * m->state, tensor) * kStateBytes;
  return 0;
}

void add_cache(const Cache& more, double count, std::vector<Cache>& caches) {
  const auto same = std::find_if(caches.begin(), caches.end(), [&](const Cache& c) {
    return c.window == more.window && c.reach == more.reach && c.element_bytes == more.element_bytes;
  });
  const auto cache =
      same != caches.end() ? same : caches.insert(same, {more.window, more.reach, 0, more.element_bytes, 0});
  cache->elements += count * more.elements;
  cache->score_width += count * more.score_width;
}

double width_of(const Mlp& mlp, const ServeSplit& split) {
  if (const auto* dense = std::get_if<DenseMlp>(&mlp)) return ratio_of(dense->width, split.tensor);
  if (const auto* moe = std::get_if<MoeMlp>(&mlp))
    return ratio_of(moe->width * moe->top_k, split.stage_gpus()) + ratio_of(moe->shared_width, split.tensor);
  return 0;
}

void add_layer(const Model& model, const Layer& layer, double count, ServeShape& shape) {
  const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
  shape.layers += count;
  shape.mlp_width = std::max(shape.mlp_width, width_of(layer.mlp, shape.split));
  if (moe != nullptr) {
    shape.routed_layers += count;
    shape.experts = d(moe->experts);
    shape.top_k = d(moe->top_k);
  }
  const double padding = expert_padding(layer, shape.format);
  for (const Weight& weight : layer_weights(model, layer)) {
    const WeightKind kind = kind_of(weight);
    double parameters = count * on_gpu(weight, layer, shape.split);
    if (kind == WeightKind::kExperts) parameters *= padding;
    shape.kept[static_cast<std::size_t>(kind)] += parameters;
    const double bytes = parameters * bits_of(shape.format, kind) / kBitsOfByte;
    if (weight.cut == Cut::kExpert) {
      assert(moe != nullptr);
      shape.expert_bytes += bytes;
      if (weight.linear)
        shape.expert_parameters += count * ratio_of(weight.parameters * moe->top_k, moe->experts);
    } else {
      shape.fixed_bytes += bytes;
      if (weight.linear) shape.fixed_parameters += parameters;
    }
  }
  shape.state_bytes += count * state_of(layer.mixer, shape.split.tensor);
  for (const Cache& cache : caches_of(layer.mixer, shape.split, shape.format))
    add_cache(cache, count, shape.caches);
}

/// The head, and what is kept beside it: a table of embeddings tied to the head is there once.
void add_edges(const Model& model, ServeShape& shape) {
  const double table = ratio_of(model.vocab * model.hidden, shape.split.tensor);
  shape.head = table;
  for (const Weight& weight : edge_weights(model)) {
    const std::string_view name = weight.name;
    if (name == "head" || (name == "embedding" && model.tied_embeddings)) continue;
    shape.tables +=
        weight.cut == Cut::kTensor ? ratio_of(weight.parameters, shape.split.tensor) : d(weight.parameters);
  }
}

/// A shape by hand stands for as many parameters as were told.
void scale_to_declared(const Model& model, ServeShape& shape) {
  if (!model.declared_parameters) return;
  const double counted = d(count_parameters(model).total);
  if (!(counted > 0)) return;
  const double scale = *model.declared_parameters / counted;
  for (double& kept : shape.kept) kept *= scale;
  for (double* part : {&shape.head, &shape.tables, &shape.fixed_bytes, &shape.expert_bytes,
                       &shape.fixed_parameters, &shape.expert_parameters})
    *part *= scale;
}

}  // namespace

ServeShape::ServeShape(const Model& model, const ServeSplit& told, const ServeFormat& told_format)
    : split(told), format(told_format), source(model.source), hidden(d(model.hidden)), vocab(d(model.vocab)) {
  for (std::size_t i = 0; i < model.layers.size();) {
    std::size_t end = i + 1;
    while (end < model.layers.size() && model.layers[end] == model.layers[i]) ++end;
    add_layer(model, model.layers[i], static_cast<double>(end - i), *this);
    i = end;
  }
  add_edges(model, *this);
  // The head is read whole by a step; the table of embeddings is only looked up. A token's way over several
  // stages ends with it once for each micro-batch that the last stage has.
  fixed_bytes += head * format.head_bits / kBitsOfByte * d(split.pipeline);
  scale_to_declared(model, *this);
}

}  // namespace shardplan
