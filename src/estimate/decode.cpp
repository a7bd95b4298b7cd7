#include "estimate/decode.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "catalog/parameters.h"
#include "cost/decode.h"
#include "cost/state.h"

namespace shardplan {
namespace {

// Weights, cache and activations of serving are 16-bit here.
constexpr Bytes<> kElement = bytes(2);
// One all-reduce after attention, one after the MLP.
constexpr std::int64_t kAllReducesPerLayer = 2;

double d(std::int64_t v) { return static_cast<double>(v); }

/// Keys and values of a token in one layer. Fewer key-value heads than ranks: each rank has one of its own.
std::int64_t cached_elements(const Mixer& mixer, std::int64_t tensor) {
  const auto* a = std::get_if<Attention>(&mixer);
  return a == nullptr ? 0 : 2 * std::max(a->kv_heads, tensor) * a->head_dim;
}

template <class N>
Bytes<N> kv_bytes_per_token(const Model& model, std::int64_t tensor, const Bytes<N>& element) {
  std::map<std::int64_t, std::int64_t> layers_by_elements;
  for (const Layer& layer : model.layers) ++layers_by_elements[cached_elements(layer.mixer, tensor)];
  std::optional<Bytes<N>> sum;
  for (const auto& [elements, layers] : layers_by_elements) {
    const auto part = call<KvBytesPerToken>(KvBytesPerToken::In<N>{
        leaf<N>("layers", d(layers), model.source),
        leaf<N>("keys and values of a token in a layer", d(elements), model.source), element});
    sum = sum ? *sum + part : part;
  }
  return sum.value_or(Bytes<N>{});
}

/// Matrix products in the device's 16-bit format.
template <class N>
FlopsPerSecond<N> rate_of(const Device& device) {
  const auto bf16 = static_cast<std::size_t>(Precision::kBf16);
  const auto fp16 = static_cast<std::size_t>(Precision::kFp16);
  const auto& peak = device.peak[bf16] ? device.peak[bf16] : device.peak[fp16];
  const auto& share =
      device.efficiency.gemm[bf16] ? device.efficiency.gemm[bf16] : device.efficiency.gemm[fp16];
  assert(peak && share);
  return leaf<N>("dense peak", peak->value, peak->source) *
         leaf<N>("share of the peak that is reached", share->value, share->source);
}

template <class N>
Bytes<N> usable(const Cluster& c) {
  const Sourced<Bytes<>>& memory = c.device.memory_reported;
  return call<UsableMemory>(
      UsableMemory::In<N>{leaf<N>("HBM", memory.value, memory.source),
                          leaf<N>("fixed reserve", c.reserve_fixed.value, c.reserve_fixed.source),
                          leaf<N>("reserve share", c.reserve_share.value, c.reserve_share.source)});
}

/// What every term is computed from.
template <class N>
struct Inputs {
  Inputs(const Question& q, const DecodeCase& decode)
      : parameters(leaf<N>("parameters", state_parameters(q.model), q.model.source)),
        element(leaf<N>("bytes of an element", kElement, "16 bits")),
        tensor(leaf<N>("tp", d(decode.tensor), "plan")),
        batch(leaf<N>("batch", d(decode.batch), "flag --batch")),
        context(leaf<N>("context", d(decode.context), "flag --seq")),
        hidden(leaf<N>("hidden size", d(q.model.hidden), q.model.source)),
        rate(rate_of<N>(q.cluster.device)) {
    const Device& device = q.cluster.device;
    bandwidth = leaf<N>("HBM bandwidth", device.memory_bandwidth.value, device.memory_bandwidth.source) *
                leaf<N>("share of it that is reached", device.efficiency.memory.value,
                        device.efficiency.memory.source);
  }

  Ratio<N> parameters;
  Bytes<N> element;
  Ratio<N> tensor, batch, context, hidden;
  FlopsPerSecond<N> rate;
  BytesPerSecond<N> bandwidth;
};

template <class N>
void add_memory(const Question& q, const DecodeCase& decode, const Inputs<N>& in, DecodeCost<N>& c) {
  c.weights = in.parameters * in.element;
  c.weights_gpu = call<DecodeWeights>(DecodeWeights::In<N>{in.parameters, in.element, in.tensor});
  c.kv_token = kv_bytes_per_token<N>(q.model, decode.tensor, in.element);
  c.kv_gpu = call<DecodeKvCache>(DecodeKvCache::In<N>{in.batch, in.context, c.kv_token, in.tensor});
  c.usable = usable<N>(q.cluster);
  c.kv_capacity = call<KvCapacity>(KvCapacity::In<N>{c.usable, c.weights_gpu, in.tensor, c.kv_token});
  c.concurrency = call<MaxConcurrency>(MaxConcurrency::In<N>{c.kv_capacity, in.context});
}

template <class N>
void add_collectives(const Question& q, const DecodeCase& decode, const Inputs<N>& in, DecodeCost<N>& c) {
  const auto links = cluster_links<N>(q.cluster);
  const Group group{1, decode.tensor};
  const std::int64_t layers = static_cast<std::int64_t>(q.model.layers.size());
  c.all_reduces = leaf<N>("all-reduces", d(decode.tensor > 1 ? kAllReducesPerLayer * layers : 0),
                          "two a layer when tp > 1");
  c.message = in.batch * in.hidden * in.element;
  c.all_reduce = group_collective<N>(Collective::kAllReduce, c.message, links, q.cluster, group);
  c.prompt_all_reduce = group_collective<N>(Collective::kAllReduce, in.context * in.hidden * in.element,
                                            links, q.cluster, group);
}

}  // namespace

template <class N>
DecodeCost<N> decode_cost(const Question& q, const DecodeCase& decode) {
  const Inputs<N> in(q, decode);
  DecodeCost<N> c;
  add_memory(q, decode, in, c);
  c.weight_read =
      call<DecodeWeightRead>(DecodeWeightRead::In<N>{in.parameters, in.element, in.tensor, in.bandwidth});
  c.kv_read =
      call<DecodeKvRead>(DecodeKvRead::In<N>{in.batch, in.context, c.kv_token, in.tensor, in.bandwidth});
  c.compute = call<DecodeCompute>(DecodeCompute::In<N>{in.batch, in.parameters, in.tensor, in.rate});
  add_collectives(q, decode, in, c);
  c.prefill_compute =
      call<PrefillCompute>(PrefillCompute::In<N>{in.context, in.parameters, in.tensor, in.rate});
  c.throughput = call<DecodeThroughput>(DecodeThroughput::In<N>{
      leaf<N>("tokens of a step", tokens(d(decode.batch)), "flag --batch"), c.step()});
  return c;
}

template DecodeCost<double> decode_cost<double>(const Question&, const DecodeCase&);
template DecodeCost<Traced> decode_cost<Traced>(const Question&, const DecodeCase&);

}  // namespace shardplan
