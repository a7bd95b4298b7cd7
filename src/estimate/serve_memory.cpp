#include "estimate/serve_memory.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cost/serving_memory.h"
#include "cost/state.h"

namespace shardplan {
namespace {

constexpr double kBitsOfByte = 8;
constexpr double kHalfBytes = 2;  // activations are in 16 bits
constexpr double kWidthsAlive = 3;

double d(std::int64_t v) { return static_cast<double>(v); }

/// The share of all layers that the fullest stage has.
double fullest(const ServeShape& shape) {
  const double stages = d(shape.split.pipeline);
  return shape.layers > 0 ? std::ceil(shape.layers / stages) / shape.layers : 1;
}

/// Weights of a kind on a GPU of the fullest stage; tables are on the first one, the head on the last.
double kept_of(const ServeShape& shape, std::size_t kind) {
  double kept = shape.kept[kind] * fullest(shape);
  if (static_cast<WeightKind>(kind) == WeightKind::kOther)
    kept += shape.split.pipeline == 1 ? shape.head + shape.tables : std::max(shape.head, shape.tables);
  return kept;
}

}  // namespace

template <class N>
ServeMemory<N> serve_memory(const ServeShape& shape, double tokens) {
  ServeMemory<N> m;
  for (std::size_t i = 0; i < kWeightKindCount; ++i) {
    const double kept = kept_of(shape, i);
    if (kept == 0) continue;
    const double element = bits_of(shape.format, static_cast<WeightKind>(i)) / kBitsOfByte;
    m.weights[i] = call<StoredWeights>(
        StoredWeights::In<N>{leaf<N>(name(static_cast<WeightKind>(i)), kept, shape.source),
                             leaf<N>("bytes of a weight", bytes(element), shape.format.name)});
  }
  const double share = fullest(shape);
  for (const ServeShape::Cache& cache : shape.caches) {
    const double kept = cache.window > 0 ? std::min(tokens, d(cache.window)) : tokens;
    const auto token = call<KvBytesPerToken>(KvBytesPerToken::In<N>{
        leaf<N>("keys and values of a token", cache.elements * share, shape.source),
        leaf<N>("bytes of an element", bytes(cache.element_bytes), "format of the cache")});
    const auto request =
        call<RequestCache>(RequestCache::In<N>{leaf<N>("tokens kept", kept, "lengths"), token});
    m.token = value_of(m.token) > 0 ? m.token + token : token;
    m.request = value_of(m.request) > 0 ? m.request + request : request;
  }
  if (shape.state_bytes > 0)
    m.request += leaf<N>("recurrent states", bytes(shape.state_bytes * share), shape.source);
  return m;
}

namespace {

template <class N>
Bytes<N> warm_up(const ServingMemory& engine, const EngineLimits& limits, const ServeShape& shape) {
  Bytes<N> peak{};
  if (limits.prompt_tokens.value > ratio(0)) {
    const double widths = kWidthsAlive * (shape.mlp_width + shape.hidden);
    peak = call<WarmUpTokens>(WarmUpTokens::In<N>{
        leaf<N>("tokens of a step at most", limits.prompt_tokens.value, limits.prompt_tokens.source),
        leaf<N>("widths", widths, shape.source),
        leaf<N>("bytes of an element", bytes(kHalfBytes), "16 bits")});
  }
  if (engine.sampler.value > bytes(0)) {
    peak = max(peak, call<WarmUpSampler>(WarmUpSampler::In<N>{
                         leaf<N>("requests at once at most", limits.requests.value, limits.requests.source),
                         leaf<N>("words", shape.vocab, shape.source),
                         leaf<N>("bytes", engine.sampler.value, engine.sampler.source)}));
  }
  return peak;
}

template <class N>
Bytes<N> usable(const Cluster& c) {
  const Sourced<Bytes<>>& memory = c.device.memory_reported;
  return call<UsableMemory>(
      UsableMemory::In<N>{leaf<N>("HBM", memory.value, memory.source),
                          leaf<N>("fixed reserve", c.reserve_fixed.value, c.reserve_fixed.source),
                          leaf<N>("share of the reserve", c.reserve_share.value, c.reserve_share.source)});
}

template <class N>
Bytes<N> pool_of(const Cluster& cluster, const ServingMemory& engine, const EngineLimits& limits,
                 const Bytes<N>& weights, const ServeRoom<N>& room) {
  const auto share = leaf<N>("share", limits.share.value, limits.share.source);
  switch (engine.rule) {
    case PoolRule::kOfTotal:
      return call<CachePool>(CachePool::In<N>{room.memory, share, weights, room.peak, room.outside});
    case PoolRule::kOfFreeBefore:
      return call<CachePoolOfFree>(CachePoolOfFree::In<N>{room.memory, room.outside, share, weights});
    case PoolRule::kOfFreeAfter:
      return call<CachePoolAfter>(
          CachePoolAfter::In<N>{room.memory, weights, room.peak, room.outside, share});
    case PoolRule::kReserve:
      break;
  }
  return call<CachePoolOfReserve>(CachePoolOfReserve::In<N>{usable<N>(cluster), weights});
}

}  // namespace

template <class N>
ServeRoom<N> serve_room(const Cluster& cluster, const ServingMemory& engine, const EngineLimits& limits,
                        const ServeShape& shape, const ServeMemory<N>& memory) {
  ServeRoom<N> room;
  const Sourced<Bytes<>>& hbm = cluster.device.memory_reported;
  room.memory = leaf<N>("HBM", hbm.value, hbm.source);
  room.peak = warm_up<N>(engine, limits, shape);
  const Sourced<Bytes<>>& outside = shape.split.gpus() > 1 ? engine.outside_several : engine.outside_one;
  room.outside = leaf<N>("outside the allocator", outside.value, outside.source);
  room.pool = pool_of<N>(cluster, engine, limits, memory.total_weights(), room);
  if (value_of(memory.token) > 0) {
    room.tokens = call<PoolTokens>(PoolTokens::In<N>{
        room.pool, memory.token, leaf<N>("tokens of a block", engine.block.value, engine.block.source)});
  }
  room.requests = call<RequestsAtOnce>(RequestsAtOnce::In<N>{
      room.pool, memory.request, leaf<N>("groups of attention", d(shape.split.data), "split")});
  return room;
}

Bytes<> cache_pool(Bytes<> memory, Ratio<> share, Bytes<> weights, Bytes<> peak, Bytes<> outside) {
  return call<CachePool>(CachePool::In<double>{memory, share, weights, peak, outside});
}

Ratio<> pool_tokens(const ServingMemory& engine, Bytes<> pool, Bytes<> token) {
  return call<PoolTokens>(PoolTokens::In<double>{pool, token, engine.block.value});
}

template ServeMemory<double> serve_memory<double>(const ServeShape&, double);
template ServeMemory<Traced> serve_memory<Traced>(const ServeShape&, double);
template ServeRoom<double> serve_room<double>(const Cluster&, const ServingMemory&, const EngineLimits&,
                                              const ServeShape&, const ServeMemory<double>&);
template ServeRoom<Traced> serve_room<Traced>(const Cluster&, const ServingMemory&, const EngineLimits&,
                                              const ServeShape&, const ServeMemory<Traced>&);

}  // namespace shardplan
