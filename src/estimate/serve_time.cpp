#include "estimate/serve_time.h"

#include <algorithm>
#include <cassert>

#include "cost/library_collectives.h"
#include "cost/serving_time.h"

namespace shardplan {
namespace {

constexpr double kHiddenBytes = 2;    // hidden vectors are in 16 bits
constexpr double kExchangeBytes = 3;  // a hidden element to an expert in 8 bits, and back in 16
constexpr std::int64_t kAllReducesOfLayer = 2;

double d(std::int64_t v) { return static_cast<double>(v); }

/// Everything that the terms share, as formula inputs.
template <class N>
class Terms {
 public:
  Terms(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
        const Sourced<Seconds<>>& launch, const ServeWork& work)
      : cluster_(cluster), shape_(shape), law_(engine.law), launch_(launch), load_(work.load), work_(work) {
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
        number("tokens of a rank and micro-batch", step_tokens()), number("parameters", step_parameters()),
        peak_, share(law_.products)});
    t.cache = read(cache_bytes(), law_.cache);
    if (law_.layer.value > seconds(0)) {
      t.floor = call<KernelFloor>(typename KernelFloor::template In<N>{
          number("layers", shape_.layers), time("floor of a layer", law_.layer),
          number("layers with experts", shape_.routed_layers), time("more for experts", law_.routed_layer)});
    }
    t.traffic = traffic(step_tokens());
    if (law_.step.value > seconds(0)) t.host = time("host, a step", law_.step);
    t.exchange = exchange(step_tokens());
    t.all_reduces = all_reduces(step_tokens());
    t.sends = sends(step_tokens());
    add_drafts(t);
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
    if (keys_met() > 0) {
      t.prompt_scores = call<PromptScores>(typename PromptScores::template In<N>{
          number("tokens of a prompt", tokens), number("keys met x dimensions", keys_met()),
          number("tp", d(shape_.split.tensor)), wide_peak_, share(law_.scores)});
    }
    t.prompt_traffic = traffic(tokens);
    t.prompt_exchange = exchange(tokens);
    t.prompt_all_reduces = all_reduces(tokens);
    t.prompt_sends = sends(tokens);
  }

  Seconds<N> prompts_added(const TokenTime<N>& t, PromptOrder order) const {
    const Ratio<N> batch = number("requests at once of a rank", std::max(1.0, rank_requests()));
    const Ratio<N> output = number("output tokens", load_.output);
    if (order == PromptOrder::kFirst && load_.one_length)
      return call<PromptsFirst>(typename PromptsFirst::template In<N>{batch, output, t.prompt()});
    return call<PromptsBeside>(
        typename PromptsBeside::template In<N>{batch, output, t.prompt(), t.step_token()});
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

  double rank_requests() const { return d(load_.batch) / d(shape_.split.data); }
  double sequences() const { return sequences_at_once(shape_.split, load_); }
  /// Tokens that a group computes in a step: guesses are verified with the token before them.
  double step_tokens() const {
    return (work_.padded > 0 ? work_.padded : sequences()) * d(work_.drafts.tokens + 1);
  }

  double weight_bytes() const {
    if (shape_.experts == 0) return shape_.fixed_bytes;
    const auto hit = DistinctExperts::eval<double>(
        {ratio(shape_.experts), ratio(shape_.top_k),
         ratio(sequences() * d(shape_.split.data) * d(work_.drafts.tokens + 1))});
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
      const std::int64_t most = cache.window > 0 ? cache.window : cache.reach;
      of_sequence += (most > 0 ? std::min(context, d(most)) : context) * cache.token_bytes();
    }
    return sequences() * of_sequence;
  }

  double keys_met() const {
    double sum = 0;
    for (const ServeShape::Cache& cache : shape_.caches) {
      const double half = load_.input / 2;
      const std::int64_t most = cache.window > 0 ? cache.window : cache.reach;
      sum += (most > 0 ? std::min(half, d(most)) : half) * cache.score_width;
    }
    return sum;
  }

  Seconds<N> traffic(double tokens) const {
    if (!(law_.passes.value > ratio(0))) return {};
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

  Bytes<N> hidden_bytes(double tokens) const {
    return number("tokens", tokens) * number("hidden size", shape_.hidden) *
           leaf<N>("bytes of an element", bytes(kHiddenBytes), "16 bits");
  }

  Seconds<N> sends(double tokens) const {
    const ServeSplit& split = shape_.split;
    if (split.pipeline == 1) return {};
    const auto links = cluster_links<N>(cluster_);
    const GroupCost<N> one = group_collective<N>(Collective::kSendRecv, hidden_bytes(tokens), links, cluster_,
                                                 {split.stage_gpus(), split.pipeline});
    return number("sends", d(split.pipeline - 1)) * one.cost.total();
  }

  /// The fastest way that an engine has: its library's, or a kernel that reads the other GPUs' memory.
  void take_fastest(const std::vector<Link<N>>& links, const Group& group, AllReduces<N>& reduces) const {
    const LibraryScope scope{true, true};
    const LibraryWays<N> ways =
        library_ways<N>(Collective::kAllReduce, reduces.message, links, cluster_, group, launch_, scope);
    const LibraryWay<N>* best = nullptr;
    for (std::size_t i = 0; i < ways.count; ++i) {
      const LibraryWay<N>& way = ways.ways[i];
      if (way.algorithm == CommAlgorithm::kMultimem) continue;  // engines' own kernels do not use it
      if (best == nullptr || way.cost.total() < best->cost.total()) best = &way;
    }
    if (best != nullptr) reduces.one = best->cost;
  }

  AllReduces<N> all_reduces(double tokens) const {
    AllReduces<N> reduces;
    if (shape_.split.tensor == 1) return reduces;
    const auto links = cluster_links<N>(cluster_);
    const Group group{1, shape_.split.tensor};
    reduces.message = hidden_bytes(tokens);
    reduces.count = leaf<N>("all-reduces", shape_.layers * d(kAllReducesOfLayer), "two a layer when tp > 1");
    const GroupCost<N> rings =
        group_collective<N>(Collective::kAllReduce, reduces.message, links, cluster_, group);
    reduces.tier = rings.tier;
    reduces.paced_by = rings.paced_by;
    reduces.one = rings.cost;
    if (cluster_.collectives) take_fastest(links, group, reduces);
    return reduces;
  }

  void add_drafts(TokenTime<N>& t) const {
    if (work_.drafts.tokens == 0) return;
    t.drafts = call<DraftTime>(typename DraftTime::template In<N>{
        number("tokens guessed", d(work_.drafts.tokens)), t.step(), number("layers", shape_.layers)});
    t.accepted = leaf<N>("tokens that a step makes", work_.drafts.accepted, "flag --accepted");
  }

  const Cluster& cluster_;
  const ServeShape& shape_;
  const ServingLaw& law_;
  const Sourced<Seconds<>>& launch_;
  const ServeLoad& load_;
  const ServeWork& work_;
  BytesPerSecond<N> bandwidth_;
  FlopsPerSecond<N> peak_, wide_peak_;
};

}  // namespace

double sequences_at_once(const ServeSplit& split, const ServeLoad& load) {
  return std::max(1.0, d(load.batch) / d(split.data * split.pipeline));
}

CollectiveCost<double> one_shot_all_reduce(const Cluster& cluster, const ServeSplit& split,
                                     const AllReduces<>& reduces) {
  const auto links = cluster_links<double>(cluster);
  const Link<double>& link = links[reduces.tier];
  return {link.latency, call<OneShotBandwidth>(OneShotBandwidth::In<double>{
                            reduces.message, ratio(d(split.tensor)), link.bandwidth})};
}

template <class N>
TokenTime<N> token_time(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
                        const Sourced<Seconds<>>& launch, const ServeWork& work) {
  const Terms<N> terms(cluster, shape, engine, launch, work);
  TokenTime<N> t = terms.step();
  terms.add_prompt(t);
  if (!work.load.prompts_elsewhere && work.load.output > 0) t.prompts = terms.prompts_added(t, engine.order);
  return t;
}

template TokenTime<double> token_time<double>(const Cluster&, const ServeShape&, const ServingTime&,
                                              const Sourced<Seconds<>>&, const ServeWork&);
template TokenTime<Traced> token_time<Traced>(const Cluster&, const ServeShape&, const ServingTime&,
                                              const Sourced<Seconds<>>&, const ServeWork&);

}  // namespace shardplan
