#include "estimate/decode.h"

#include "catalog/parameters.h"
#include "cost/decode.h"

namespace shardplan {
namespace {

// Weights, cache and activations of serving are 16-bit here.
constexpr Bytes<> kElement = bytes(2);
// One all-reduce after attention, one after the MLP.
constexpr double kAllReducesPerLayer = 2;

double d(std::int64_t v) { return static_cast<double>(v); }

double cached_elements(const Mixer& mixer) {
  if (const auto* a = std::get_if<Attention>(&mixer))
    return a->shares_kv ? 0 : d(2 * a->kv_heads * a->head_dim);
  if (const auto* a = std::get_if<LatentAttention>(&mixer)) return d(a->kv_rank + a->rope_dim);
  return 0;
}

Bytes<> kv_bytes_per_token(const Model& model) {
  Bytes<> sum = bytes(0);
  for (const Layer& layer : model.layers) {
    sum += call<KvBytesPerToken>(
        KvBytesPerToken::In<double>{ratio(1), ratio(cached_elements(layer.mixer)), kElement});
  }
  return sum;
}

}  // namespace

DecodeCost decode_cost(const Question& q, const DecodeCase& decode) {
  const Device& device = q.cluster.device;
  const auto links = cluster_links<double>(q.cluster);
  const Group group{1, decode.tensor};
  const Ratio<> parameters = ratio(state_parameters(q.model)), tensor = ratio(d(decode.tensor));
  const Ratio<> hidden = ratio(d(q.model.hidden)), batch = ratio(d(decode.batch)),
                context = ratio(d(decode.context));
  const BytesPerSecond<> bandwidth = device.memory_bandwidth.value * device.efficiency.memory.value;
  const std::size_t bf16 = static_cast<std::size_t>(Precision::kBf16);

  DecodeCost c;
  c.weights = parameters * kElement;
  c.weights_gpu = c.weights / tensor;
  c.kv_token = kv_bytes_per_token(q.model);
  c.kv_gpu = batch * context * c.kv_token / tensor;
  c.weight_read =
      call<DecodeWeightRead>(DecodeWeightRead::In<double>{parameters, kElement, tensor, bandwidth});
  c.kv_read = call<DecodeKvRead>(DecodeKvRead::In<double>{batch, context, c.kv_token, tensor, bandwidth});
  c.message = batch * hidden * kElement;
  c.all_reduces =
      decode.tensor > 1 ? kAllReducesPerLayer * d(static_cast<std::int64_t>(q.model.layers.size())) : 0;
  c.all_reduce = group_collective<double>(Collective::kAllReduce, c.message, links, q.cluster, group);
  const FlopsPerSecond<> rate = device.peak[bf16] && device.efficiency.gemm[bf16]
                                    ? device.peak[bf16]->value * device.efficiency.gemm[bf16]->value
                                    : flops_per_s(0);
  c.prefill_compute = call<PrefillCompute>(PrefillCompute::In<double>{context, parameters, tensor, rate});
  c.prefill_all_reduce =
      c.all_reduces *
      group_collective<double>(Collective::kAllReduce, context * hidden * kElement, links, q.cluster, group)
          .cost.total();
  c.throughput = call<DecodeThroughput>(DecodeThroughput::In<double>{tokens(d(decode.batch)), c.step()});
  return c;
}

}  // namespace shardplan
