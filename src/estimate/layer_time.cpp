// Time of one layer: matrix products, attention core, memory-bound passes, its collectives.
#include "estimate/layer_time.h"

#include "cost/adapters.h"
#include "cost/group_collectives.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

// Passes over the residual stream: a norm reads and writes, a residual add reads two and writes one.
constexpr double kNormPasses = 2, kResidualPasses = 3;
// Rotary embedding reads and writes query, key and value.
constexpr double kRotaryPasses = 2;
// Routed tokens are written and read by the permutation and again by its inverse.
constexpr double kPermutePasses = 4;
// The backward pass of a memory-bound kernel reads its input and the gradient, and writes one.
constexpr double kBackwardPasses = 2;
// Kernels of a layer's forward pass: attention block, MLP, routed experts, recurrent mixer.
constexpr double kAttentionKernels = 14, kMlpKernels = 8, kMoeKernels = 25, kRecurrentKernels = 15;
// An adapter is two products and the sum with what it stands beside.
constexpr double kAdapterKernels = 3;
// Reads and writes of a logit in the loss: cast, maximum, exponential sum, gradient.
constexpr double kLogitPasses = 5;

// What a device that has no figure for a precision is taken to reach in it: what it reaches in 16 bits.
const Sourced<Ratio<>>& share(const std::array<std::optional<Sourced<Ratio<>>>, kPrecisionCount>& shares,
                              Precision precision) {
  for (const Precision p : {precision, Precision::kBf16, Precision::kFp16}) {
    const auto& found = shares[static_cast<std::size_t>(p)];
    if (found) return *found;
  }
  static const Sourced<Ratio<>> kNone{};
  return kNone;
}

Bytes<> operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return bytes(4);
    case Precision::kFp8:
    case Precision::kInt8:
      return bytes(1);
    case Precision::kFp4:
      return bytes(0.5);
    default:
      return bytes(2);
  }
}

Precision sixteen_bit(const Device& device) {
  return device.peak[static_cast<std::size_t>(Precision::kBf16)] ? Precision::kBf16 : Precision::kFp16;
}

template <class N>
FlopsPerSecond<N> reached(const Device& device, Precision precision, const Sourced<Ratio<>>& efficiency) {
  const auto& peak = *device.peak[static_cast<std::size_t>(precision)];
  return leaf<N>("dense peak", peak.value, peak.source) *
         leaf<N>("share of the peak that is reached", efficiency.value, efficiency.source);
}

}  // namespace

template <class N>
Estimator::Rates<N>::Rates(const Device& device, Precision precision)
    : gemm(reached<N>(device, precision, share(device.efficiency.gemm, precision))),
      logits(reached<N>(device, sixteen_bit(device), share(device.efficiency.gemm, sixteen_bit(device)))),
      attention(reached<N>(device, sixteen_bit(device), device.efficiency.attention)),
      k_half(leaf<N>("inner dimension at half rate", share(device.efficiency.gemm_k_half, precision).value,
                     share(device.efficiency.gemm_k_half, precision).source)),
      element(leaf<N>("bytes of an operand", operand_bytes(precision), name(precision))),
      activation(leaf<N>("bytes of an activation", bytes(2), "16-bit activations")),
      memory(leaf<N>("HBM bandwidth", device.memory_bandwidth.value, device.memory_bandwidth.source) *
             leaf<N>("share of HBM bandwidth reached", device.efficiency.memory.value,
                     device.efficiency.memory.source)),
      launch(leaf<N>("launch time of a kernel", device.efficiency.kernel_launch.value,
                     device.efficiency.kernel_launch.source)) {}

template <class N>
Seconds<N> Estimator::gemm_time(const Rates<N>& rates, double groups, const Ratio<N>& m, const Ratio<N>& n,
                                const Ratio<N>& k) const {
  return call<GemmTime>(GemmTime::In<N>{leaf<N>("groups", groups, "experts on the rank"), m, n, k, rates.gemm,
                                        rates.k_half, rates.element, rates.memory});
}

template <class N>
void Estimator::add_gemms(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                          LayerTime<N>& layer) const {
  const Ratio<N> t = micro_batch_tokens<N>(plan), routed = routed_tokens<N>(plan);
  const double load = question_.workload.expert_load;
  for (const Gemm& gemm : ops.gemms) {
    const bool expert = gemm.cut == GemmCut::kExpertColumn || gemm.cut == GemmCut::kExpertRow;
    const double split = expert ? plan.etp : (gemm.cut == GemmCut::kWhole ? 1 : plan.tp);
    const bool column = gemm.cut == GemmCut::kColumn || gemm.cut == GemmCut::kExpertColumn;
    const double groups = expert ? ops.experts / plan.ep : 1;
    const char* source = gemm.name;
    const Ratio<N> out = leaf<N>("columns on the rank", column ? gemm.out / split : gemm.out, source);
    const Ratio<N> in = leaf<N>("rows on the rank",
                                column || gemm.cut == GemmCut::kWhole ? gemm.in : gemm.in / split, source);
    Ratio<N> rows = gemm.cut == GemmCut::kWhole ? routed : t;
    // Each expert of the rank gets the same share of the rows sent to it; the fullest rank sets the pace.
    if (expert)
      rows =
          routed * leaf<N>("rows of one expert for each routed token", ops.top_k * load * plan.etp / groups,
                           load == 1 ? "balanced routing" : "routing of the fullest rank");
    const Seconds<N> forward = gemm_time<N>(rates, groups, rows, out, in);
    layer.gemm_forward += forward;
    if (frozen()) {
      // A frozen weight has no gradient; its adapters have.
      layer.gemm_backward += gemm_time<N>(rates, groups, rows, in, out);
      add_adapters<N>(plan, gemm, rates, groups, rows, layer);
      if (question_.workload.adapters.base) {
        const Seconds<N> widened = call<WidenTime>(WidenTime::In<N>{
            leaf<N>("weights of the product on the rank", groups * value_of(in) * value_of(out), source),
            base_width<N>(), rates.memory});
        layer.memory_forward += widened;
        layer.memory_backward += widened;
      }
    } else {
      const Seconds<N> weight = gemm_time<N>(rates, groups, in, out, rows);
      layer.gemm_backward += gemm_time<N>(rates, groups, rows, in, out) + weight;
      layer.gemm_weight += weight;
    }
    if ((gemm.modules & plan.recompute.modules) != 0) layer.recompute += forward;
  }
}

/// Each adapter beside a product: its two products forward, and both gradients of each.
template <class N>
void Estimator::add_adapters(const Plan& plan, const Gemm& gemm, const Rates<N>& rates, double groups,
                             const Ratio<N>& rows, LayerTime<N>& layer) const {
  const Adapters& adapters = question_.workload.adapters;
  const bool row = gemm.cut == GemmCut::kRow || gemm.cut == GemmCut::kExpertRow;
  const bool expert = gemm.cut == GemmCut::kExpertColumn || gemm.cut == GemmCut::kExpertRow;
  const double split = expert ? plan.etp : (gemm.cut == GemmCut::kWhole ? 1 : plan.tp);
  const Ratio<N> rank = leaf<N>("rank of an adapter", d(adapters.rank), "workload");
  const Ratio<N> in = leaf<N>("rows on the rank", row ? gemm.in / split : gemm.in, gemm.name);
  for (const AdaptedProduct& product : gemm.adapted) {
    if ((product.targets & adapters.targets) == 0 || product.out == 0) continue;
    const Ratio<N> out = leaf<N>("columns on the rank", row ? product.out : product.out / split, gemm.name);
    layer.gemm_forward +=
        gemm_time<N>(rates, groups, rows, rank, in) + gemm_time<N>(rates, groups, rows, out, rank);
    const Seconds<N> weight =
        gemm_time<N>(rates, groups, in, rank, rows) + gemm_time<N>(rates, groups, rank, out, rows);
    layer.gemm_backward +=
        gemm_time<N>(rates, groups, rows, in, rank) + gemm_time<N>(rates, groups, rows, rank, out) + weight;
    layer.gemm_weight += weight;
  }
}

template <class N>
void Estimator::add_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                              LayerTime<N>& layer) const {
  const Ratio<N> t = micro_batch_tokens<N>(plan);
  if (ops.has_attention_core) {
    const double sequence = d(question_.workload.sequence);
    const bool windowed = ops.attended > 0 && ops.attended < sequence;
    layer.attention_forward = call<AttentionTime>(AttentionTime::In<N>{
        t, leaf<N>(windowed ? "window" : "sequence", windowed ? ops.attended : sequence, "workload"),
        leaf<N>("heads on the rank", ops.heads / plan.tp, model_source_),
        leaf<N>("dimensions of a head", ops.qk_dim + ops.value_dim, model_source_),
        leaf<N>("share of keys met", windowed ? 1.0 : work::kCausalShare, "causal mask"), rates.attention});
  } else if (ops.linear_state_flops > 0) {
    layer.attention_forward = t *
                              leaf<N>("FLOP of the recurrent state a token",
                                      flops(ops.linear_state_flops / plan.tp), model_source_) /
                              rates.attention;
  }
  layer.attention_backward = layer.attention_forward * Ratio<N>(N(work::kAttentionBackward));
}

template <class N>
void Estimator::add_memory_bound(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                                 LayerTime<N>& layer) const {
  double passes = kNormPasses + kResidualPasses,
         kernels = ops.has_attention_core ? kAttentionKernels : kRecurrentKernels;
  double inner = kRotaryPasses * (ops.query_width + ops.kv_width) + ops.mixer_extra_width;
  if (ops.mlp_matrices > 0) {
    passes += kNormPasses + kResidualPasses;
    inner += (ops.mlp_matrices + 1) * (ops.mlp_width + ops.shared_width);
    kernels += ops.experts > 0 ? kMoeKernels : kMlpKernels;
  }
  inner /= plan.tp;
  const double sharers = plan.sequence_parallel ? plan.tp : 1;
  if (ops.experts > 0) {
    // Rows of routed tokens, spread over the tokens of the micro-batch.
    const double rows = ops.top_k * question_.workload.expert_load / sharers;
    inner += rows * (kPermutePasses * d(question_.model.hidden) + (ops.mlp_matrices + 1) * ops.expert_width);
  }
  const Seconds<N> passes_time = call<MemoryBoundTime>(
      MemoryBoundTime::In<N>{micro_batch_tokens<N>(plan),
                             leaf<N>("passes over the residual stream", passes, "norms and residual adds"),
                             leaf<N>("hidden size", d(question_.model.hidden), model_source_),
                             leaf<N>("sequence-parallel degree", sharers, "plan"),
                             leaf<N>("inner elements read and written a token", inner, model_source_),
                             rates.activation, rates.memory});
  // What widens a quantized base is there already, and the same in both passes.
  const bool widened = value_of(layer.memory_forward) > 0;
  const Seconds<N> backward_time = passes_time * Ratio<N>(N(kBackwardPasses));
  layer.memory_forward = widened ? layer.memory_forward + passes_time : passes_time;
  layer.memory_backward = widened ? layer.memory_backward + backward_time : backward_time;
  if (frozen()) kernels += kAdapterKernels * adapter_count(ops);
  const auto idle = [&](const Seconds<N>& device, double count) {
    return call<LaunchFloor>(
        LaunchFloor::In<N>{device, leaf<N>("kernels", count, "kernels of one layer"), rates.launch});
  };
  layer.launch = idle(layer.forward(), kernels) + idle(layer.backward(), kBackwardPasses * kernels);
}

/// Forward work that the backward pass does again. The matrix products of modules are counted where they are.
template <class N>
void Estimator::add_recompute(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                              LayerTime<N>& layer) const {
  const Recompute& again = plan.recompute;
  if (again.whole_layers()) {
    layer.recompute = layer.forward() + layer.tensor + layer.expert + layer.context_forward_exposed;
    return;
  }
  if (again.has(Module::kCoreAttention)) layer.recompute += layer.attention_forward;
  if (again == Recompute::kNone || again == Recompute::kSelective) return;
  const double sharers = plan.sequence_parallel ? plan.tp : 1;
  const bool moe = ops.experts > 0, whole_moe = moe && again.has(Module::kMoe);
  const bool mlp = !moe && ops.mlp_matrices > 0 && again.has(Module::kMlp);
  const bool shared = ops.shared_width > 0 && (whole_moe || again.has(Module::kSharedExperts));
  const double passes = again.has(Module::kLayerNorm) ? (ops.mlp_matrices > 0 ? 2 : 1) * kNormPasses : 0.0;
  double inner = 0;
  if (ops.latent_attention && again.has(Module::kMlaUpProjection)) {
    inner += kRotaryPasses * (ops.query_width + ops.kv_width) / plan.tp;
  }
  if (mlp) inner += (ops.mlp_matrices + 1) * ops.mlp_width / plan.tp;
  if (shared) inner += (ops.mlp_matrices + 1) * ops.shared_width / plan.tp;
  if (whole_moe) inner += ops.top_k / sharers * kPermutePasses * d(question_.model.hidden);
  if (moe && (whole_moe || again.has(Module::kMoeActivation))) {
    inner += ops.top_k / sharers * (ops.mlp_matrices + 1) * ops.expert_width;
  }
  layer.recompute += call<MemoryBoundTime>(MemoryBoundTime::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("passes over the residual stream", passes, "recomputed norms"),
      leaf<N>("hidden size", d(question_.model.hidden), model_source_),
      leaf<N>("sequence-parallel degree", sharers, "plan"),
      leaf<N>("inner elements read and written a token", inner, model_source_), rates.activation,
      rates.memory});
  if (whole_moe) layer.recompute += layer.expert;
  // A layer's collective of the MLP is one of its two of each direction.
  if (mlp || shared || (whole_moe && plan.etp > 1)) layer.recompute += layer.tensor / Ratio<N>(N(2.0));
}

template <class N>
void Estimator::add_layer_collectives(const Plan& plan, const LayerOps& ops,
                                      const std::vector<Link<N>>& links, LayerTime<N>& layer,
                                      TimeBreakdown<N>& time) const {
  const Cluster& cluster = question_.cluster;
  const Bytes<N> element = leaf<N>("bytes of an activation", bytes(2), "16-bit activations");
  const Ratio<N> t = micro_batch_tokens<N>(plan),
                 hidden = leaf<N>("hidden size", d(question_.model.hidden), model_source_);
  const auto record = [&](Axis axis, const GroupCost<N>& cost, const Bytes<N>& size,
                          const Seconds<N>& window) {
    time.axis(axis) = {cost, window, value_of(size), time.axis(axis).occurrences};
  };
  if (plan.tp > 1) {
    const Bytes<N> size = named("activation of one micro-batch", t * hidden * element);
    const auto cost = group_collective<N>(Collective::kAllReduce, size, links, cluster, tensor_group(plan));
    // One for the mixer, one for the MLP; experts without their own tensor parallelism need none.
    const bool mlp = ops.mlp_matrices > 0 && (ops.experts == 0 || ops.shared_width > 0 || plan.etp > 1);
    const double each = mlp ? 2 : 1;
    layer.tensor = cost.cost.total() * Ratio<N>(N(each));
    record(Axis::kTensor, cost, size, Seconds<N>(N(0.0)));
  }
  if (ops.experts > 0 && plan.ep > 1) {
    const Bytes<N> size =
        named("routed tokens", routed_tokens<N>(plan) * expert_rows_of_token<N>(ops) * hidden * element);
    const auto cost = group_collective<N>(Collective::kAllToAll, size, links, cluster, expert_group(plan));
    layer.expert = 2.0 * cost.cost.total();  // dispatch and combine
    record(Axis::kExpert, cost, size, Seconds<N>(N(0.0)));
  }
  if (plan.cp > 1 && ops.has_attention_core) {
    // The ring passes every rank's keys and values to all others: an all-gather in cp - 1 sends.
    const Bytes<N> size = named("keys and values of the sequence",
                                t * leaf<N>("key and value width", ops.kv_width / plan.tp, model_source_) *
                                    element * leaf<N>("context-parallel degree", plan.cp, "plan"));
    const auto cost = group_collective<N>(Collective::kAllGather, size, links, cluster, context_group(plan));
    layer.context_forward = cost.cost.total();
    layer.context_backward = 2.0 * cost.cost.total();  // keys and values again, and their gradients
    const auto exposed = [&](const Seconds<N>& ring, const Seconds<N>& window) {
      return call<ExposedTime>(ExposedTime::In<N>{ring, window, contention<N>()});
    };
    layer.context_forward_exposed = exposed(layer.context_forward, layer.attention_forward);
    layer.context_backward_exposed = exposed(layer.context_backward, layer.attention_backward);
    record(Axis::kContext, cost, size, layer.attention_forward);
  }
}

template <class N>
Estimator::LayerTime<N> Estimator::layer_time(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                                              const std::vector<Link<N>>& links,
                                              TimeBreakdown<N>& time) const {
  LayerTime<N> layer;
  add_gemms<N>(plan, ops, rates, layer);
  add_attention<N>(plan, ops, rates, layer);
  add_memory_bound<N>(plan, ops, rates, layer);
  add_layer_collectives<N>(plan, ops, links, layer, time);
  add_recompute<N>(plan, ops, rates, layer);
  return layer;
}

template <class N>
void Estimator::logits_time(const Plan& plan, const Rates<N>& rates, Seconds<N>& forward,
                            Seconds<N>& backward, Seconds<N>& weight) const {
  if (question_.model.vocab == 0) return;
  const Ratio<N> t = micro_batch_tokens<N>(plan);
  const Ratio<N> out = leaf<N>("vocabulary on the rank", d(question_.model.vocab) / plan.tp, model_source_);
  const Ratio<N> in = leaf<N>("hidden size", d(question_.model.hidden), model_source_);
  const auto product = [&](const Ratio<N>& m, const Ratio<N>& n, const Ratio<N>& k) {
    return call<GemmTime>(GemmTime::In<N>{leaf<N>("groups", 1, "head"), m, n, k, rates.logits, rates.k_half,
                                          rates.activation, rates.memory});
  };
  const Seconds<N> loss =
      named("passes over the logits", t * out * Ratio<N>(N(kLogitPasses)) * rates.activation / rates.memory);
  forward = product(t, out, in) + loss;
  backward = product(t, in, out) + loss;
  if (frozen()) return;
  weight = product(in, out, t);
  backward = product(t, in, out) + weight + loss;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a template argument cannot have them
#define SHARDPLAN_INSTANTIATE(N)                                                                            \
  template struct Estimator::Rates<N>;                                                                      \
  template Estimator::LayerTime<N> Estimator::layer_time<N>(                                                \
      const Plan&, const LayerOps&, const Rates<N>&, const std::vector<Link<N>>&, TimeBreakdown<N>&) const; \
  template void Estimator::logits_time<N>(const Plan&, const Rates<N>&, Seconds<N>&, Seconds<N>&,           \
                                          Seconds<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace shardplan
