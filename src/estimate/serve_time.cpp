#include "estimate/serve_time.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "catalog/parameters.h"
#include "cost/library_collectives.h"
#include "cost/serving_time.h"

namespace shardplan {
namespace {

constexpr double kBitsOfByte = 8;
constexpr double kHiddenBytes = 2;    // hidden vectors are in 16 bits
constexpr double kStateBytes = 4;     // recurrent states in 32
constexpr double kExchangeBytes = 3;  // a hidden element to an expert in 8 bits, and back in 16
constexpr std::int64_t kAllReducesOfLayer = 2;

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

double bits_of(const Weight& weight, const ServeFormat& format) {
  const std::string_view name = weight.name;
  if (!weight.linear || name == "moe.router") return format.head_bits;
  if (weight.cut == Cut::kExpert) return format.expert_bits;
  return name.starts_with("mlp.") || name.starts_with("moe.") ? format.mlp_bits : format.attention_bits;
}

struct MixerSums {
  std::int64_t window = 0;
  double token_bytes = 0, score_width = 0, state_bytes = 0;
};

MixerSums sums_of(const Mixer& mixer, const ServeSplit& split, const ServeFormat& format) {
  const double element = format.cache_bits / kBitsOfByte;
  MixerSums sums;
  if (const auto* a = std::get_if<Attention>(&mixer)) {
    sums.window = a->window > 0 ? a->window : a->chunk;
    if (!a->shares_kv) sums.token_bytes = 2 * kv_heads_of_rank(*a, split.tensor) * d(a->head_dim) * element;
    sums.score_width = 2 * d(a->heads * a->head_dim);
  } else if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
    sums.token_bytes = d(l->kv_rank + l->rope_dim) * element;
    sums.score_width = d(l->heads * (l->nope_dim + l->rope_dim + l->value_dim));
  } else if (const auto* g = std::get_if<GatedDeltaNet>(&mixer)) {
    sums.state_bytes = ratio_of(g->value_heads * g->key_dim * g->value_dim, split.tensor) * kStateBytes;
  } else if (const auto* m = std::get_if<Mamba2>(&mixer)) {
    sums.state_bytes = ratio_of(m->heads * m->head_dim * m->state, split.tensor) * kStateBytes;
  }
  return sums;
}

void add_layer(const Model& model, const Layer& layer, double count, ServeShape& shape) {
  const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
  shape.layers += count;
  if (moe != nullptr) {
    shape.routed_layers += count;
    shape.experts = d(moe->experts);
    shape.top_k = d(moe->top_k);
  }
  for (const Weight& weight : layer_weights(model, layer)) {
    const double parameters = count * on_gpu(weight, layer, shape.split);
    const double bytes = parameters * bits_of(weight, shape.format) / kBitsOfByte;
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
  const MixerSums sums = sums_of(layer.mixer, shape.split, shape.format);
  shape.state_bytes += count * sums.state_bytes;
  const auto same = std::find_if(shape.caches.begin(), shape.caches.end(),
                                 [&](const auto& c) { return c.window == sums.window; });
  const auto cache = same != shape.caches.end() ? same : shape.caches.insert(same, {sums.window, 0, 0});
  cache->token_bytes += count * sums.token_bytes;
  cache->score_width += count * sums.score_width;
}

}  // namespace

ServeShape::ServeShape(const Model& model, const ServeSplit& told, const ServeFormat& told_format)
    : split(told), format(told_format), source(model.source), hidden(d(model.hidden)) {
  for (std::size_t i = 0; i < model.layers.size();) {
    std::size_t end = i + 1;
    while (end < model.layers.size() && model.layers[end] == model.layers[i]) ++end;
    add_layer(model, model.layers[i], static_cast<double>(end - i), *this);
    i = end;
  }
  // The head is read whole by a step; the table of embeddings is only looked up.
  fixed_bytes +=
      ratio_of(model.vocab * model.hidden, split.tensor) * format.head_bits / kBitsOfByte * d(split.pipeline);
}

namespace {

/// Everything that the terms share, as formula inputs.
template <class N>
class Terms {
 public:
  Terms(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
        const Sourced<Seconds<>>& launch, const ServeLoad& load)
      : cluster_(cluster), shape_(shape), law_(engine.law), launch_(launch), load_(load) {
    const Device& device = cluster.device;
    bandwidth_ = leaf<N>("HBM bandwidth", device.memory_bandwidth.value, device.memory_bandwidth.source);
    const auto half = static_cast<std::size_t>(Precision::kBf16);
    const auto other = static_cast<std::size_t>(Precision::kFp16);
    const auto& wide = device.peak[half] ? device.peak[half] : device.peak[other];
    const auto& told = device.peak[static_cast<std::size_t>(shape.format.products)];
    assert(wide);
    peak_ = told ? leaf<N>("dense peak", told->value, told->source)
                 : leaf<N>("dense peak", wide->value, wide->source);
    wide_peak_ = leaf<N>("16-bit peak", wide->value, wide->source);
  }

  TokenTime<N> step() const {
    TokenTime<N> t;
    t.weights = read(weight_bytes(), law_.weights);
    t.products = call<ProductsTime>(typename ProductsTime::template In<N>{
        number("sequences of a rank and micro-batch", sequences()), number("parameters", step_parameters()),
        peak_, share(law_.products)});
    t.cache = read(cache_bytes(), law_.cache);
    t.floor = call<KernelFloor>(typename KernelFloor::template In<N>{
        number("layers", shape_.layers), time("floor of a layer", law_.layer),
        number("layers with experts", shape_.routed_layers), time("more for experts", law_.routed_layer)});
    t.traffic = traffic(sequences());
    t.host = time("host, a step", law_.step);
    t.exchange = exchange(sequences());
    t.all_reduces = all_reduces(sequences());
    return t;
  }

  void add_prompt(TokenTime<N>& t) const {
    const double tokens = load_.input;
    const double routed = shape_.expert_parameters * d(shape_.split.data) / d(shape_.split.stage_gpus());
    const auto products = [&](double parameters, const Ratio<N>& reached) {
      return call<ProductsTime>(typename ProductsTime::template In<N>{
          number("tokens of a prompt", tokens), number("parameters", parameters), peak_, reached});
    };
    const Ratio<N> dense = share(law_.products);
    t.prompt_products = products(shape_.fixed_parameters, dense);
    if (routed > 0) t.prompt_products += products(routed, dense * share(law_.routed_products));
    t.prompt_scores = call<PromptScores>(typename PromptScores::template In<N>{
        number("tokens of a prompt", tokens), number("keys met x dimensions", keys_met()),
        number("tp", d(shape_.split.tensor)), wide_peak_, share(law_.scores)});
    t.prompt_traffic = traffic(tokens);
    t.prompt_exchange = exchange(tokens);
    t.prompt_all_reduces = all_reduces(tokens);
  }

  Seconds<N> prompts_added(const TokenTime<N>& t, PromptOrder order) const {
    const Ratio<N> batch = number("requests at once of a rank", std::max(1.0, rank_requests()));
    const Ratio<N> output = number("output tokens", load_.output);
    if (order == PromptOrder::kFirst && load_.one_length)
      return call<PromptsFirst>(typename PromptsFirst::template In<N>{batch, output, t.prompt()});
    return call<PromptsBeside>(typename PromptsBeside::template In<N>{batch, output, t.prompt(), t.step()});
  }

 private:
  Ratio<N> number(const char* name, double value) const { return leaf<N>(name, value, shape_.source); }
  Ratio<N> share(const Sourced<Ratio<>>& s) const { return leaf<N>("share", s.value, s.source); }
  Seconds<N> time(const char* name, const Sourced<Seconds<>>& s) const {
    return leaf<N>(name, s.value, s.source);
  }
  Seconds<N> read(double size, const Sourced<Ratio<>>& reached) const {
    return call<ReadTime>(typename ReadTime::template In<N>{leaf<N>("bytes read", bytes(size), shape_.source),
                                                            bandwidth_, share(reached)});
  }

  /// Requests of one group of attention, and those of a micro-batch of it: a stage works on one at a time.
  double rank_requests() const { return d(load_.batch) / d(shape_.split.data); }
  double sequences() const { return rank_requests() / d(shape_.split.pipeline); }

  double weight_bytes() const {
    if (shape_.experts == 0) return shape_.fixed_bytes;
    const auto hit = DistinctExperts::eval<double>(
        {ratio(shape_.experts), ratio(shape_.top_k), ratio(d(load_.batch) / d(shape_.split.pipeline))});
    return shape_.fixed_bytes + shape_.expert_bytes * hit.raw();
  }

  double step_parameters() const {
    return shape_.fixed_parameters +
           shape_.expert_parameters * d(shape_.split.data) / d(shape_.split.stage_gpus());
  }

  double cache_bytes() const {
    const double context = load_.input + load_.output / 2;
    double of_sequence = 2 * shape_.state_bytes;
    for (const ServeShape::Cache& cache : shape_.caches) {
      const double kept = cache.window > 0 ? std::min(context, d(cache.window)) : context;
      of_sequence += kept * cache.token_bytes;
    }
    return sequences() * of_sequence;
  }

  double keys_met() const {
    double sum = 0;
    for (const ServeShape::Cache& cache : shape_.caches) {
      const double half = load_.input / 2;
      sum += (cache.window > 0 ? std::min(half, d(cache.window)) : half) * cache.score_width;
    }
    return sum;
  }

  Seconds<N> traffic(double tokens) const {
    return call<HiddenTraffic>(typename HiddenTraffic::template In<N>{
        number("tokens", tokens), number("layers", shape_.layers), number("hidden size", shape_.hidden),
        leaf<N>("bytes of an element", bytes(kHiddenBytes), "16 bits"), share(law_.passes), bandwidth_});
  }

  Seconds<N> exchange(double tokens) const {
    const ServeSplit& split = shape_.split;
    if (shape_.experts == 0 || split.data == 1) return {};
    const auto links = cluster_links<N>(cluster_);
    const std::size_t tier = members(cluster_, {1, split.stage_gpus()}).outermost;
    return call<ExpertExchange>(typename ExpertExchange::template In<N>{
        number("tokens of a rank", tokens / d(split.tensor)), number("experts of a token", shape_.top_k),
        number("hidden size", shape_.hidden),
        leaf<N>("bytes of an element", bytes(kExchangeBytes), "8 bits there, 16 back"),
        number("layers with experts", shape_.routed_layers), links[tier].bandwidth, share(law_.exchange)});
  }

  /// The fastest way that an engine has: its library's, or a kernel that reads the other GPUs' memory.
  Seconds<N> one_all_reduce(const Bytes<N>& size) const {
    const auto links = cluster_links<N>(cluster_);
    const Group group{1, shape_.split.tensor};
    if (!cluster_.collectives)
      return group_collective<N>(Collective::kAllReduce, size, links, cluster_, group).cost.total();
    const LibraryScope scope{true, true};
    const LibraryWays<N> ways =
        library_ways<N>(Collective::kAllReduce, size, links, cluster_, group, launch_, scope);
    const LibraryWay<N>* best = nullptr;
    for (std::size_t i = 0; i < ways.count; ++i) {
      const LibraryWay<N>& way = ways.ways[i];
      if (way.algorithm == CommAlgorithm::kMultimem) continue;  // engines' own kernels do not use it
      if (best == nullptr || way.cost.total() < best->cost.total()) best = &way;
    }
    return best == nullptr ? Seconds<N>{} : best->cost.total();
  }

  Seconds<N> all_reduces(double tokens) const {
    if (shape_.split.tensor == 1) return {};
    const Bytes<N> size = number("tokens", tokens) * number("hidden size", shape_.hidden) *
                          leaf<N>("bytes of an element", bytes(kHiddenBytes), "16 bits");
    const double count = shape_.layers * d(kAllReducesOfLayer);
    return leaf<N>("all-reduces", count, "two a layer when tp > 1") * one_all_reduce(size);
  }

  const Cluster& cluster_;
  const ServeShape& shape_;
  const ServingLaw& law_;
  const Sourced<Seconds<>>& launch_;
  const ServeLoad& load_;
  BytesPerSecond<N> bandwidth_;
  FlopsPerSecond<N> peak_, wide_peak_;
};

}  // namespace

template <class N>
TokenTime<N> token_time(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
                        const Sourced<Seconds<>>& launch, const ServeLoad& load) {
  const Terms<N> terms(cluster, shape, engine, launch, load);
  TokenTime<N> t = terms.step();
  terms.add_prompt(t);
  if (!load.prompts_elsewhere) t.prompts = terms.prompts_added(t, engine.order);
  return t;
}

template TokenTime<double> token_time<double>(const Cluster&, const ServeShape&, const ServingTime&,
                                              const Sourced<Seconds<>>&, const ServeLoad&);
template TokenTime<Traced> token_time<Traced>(const Cluster&, const ServeShape&, const ServingTime&,
                                              const Sourced<Seconds<>>&, const ServeLoad&);

}  // namespace shardplan
