// Time of one layer's kernels: matrix products, attention core, memory-bound passes, what is done again.
#include "estimate/layer_time.h"

#include <algorithm>
#include <cmath>

#include "cost/adapters.h"
#include "cost/kernels.h"
#include "estimate/plan_leaves.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

// Passes over the residual stream: a norm reads and writes, a residual add reads two and writes one.
constexpr double kNormPasses = 2, kResidualPasses = 3;
// Rotary embedding reads and writes query, key and value.
constexpr double kRotaryPasses = 2;
// The backward pass launches a kernel for each of the two gradients.
constexpr double kBackwardKernels = 2;
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

template <class N, class Q>
auto told(const char* what, const Sourced<Q>& constant) {
  return leaf<N>(what, constant.value, constant.source);
}

}  // namespace

template <class N>
Estimator::Rates<N>::Products::Products(const Question& question, Precision precision)
    : rate(reached<N>(question.cluster.device, precision,
                      share(question.cluster.device.efficiency.gemm, precision)) *
           told<N>("rate of the framework's products", question.framework.timing.gemm)),
      k_half(told<N>("inner dimension at half rate",
                     share(question.cluster.device.efficiency.gemm_k_half, precision))),
      element(leaf<N>("bytes of an operand", operand_bytes(precision), name(precision))) {}

template <class N>
Estimator::PassRates<N>::PassRates(const Question& question)
    : activation(leaf<N>("bytes of an activation", bytes(2), "16-bit activations")),
      memory(told<N>("HBM bandwidth", question.cluster.device.memory_bandwidth) *
             told<N>("share of HBM bandwidth reached", question.cluster.device.efficiency.memory)),
      elementwise(told<N>("memory traffic over fused kernels", question.framework.timing.elementwise)),
      launch(told<N>("launch time of a kernel", question.cluster.device.efficiency.kernel_launch) *
             told<N>("host time of the framework", question.framework.timing.kernels)) {}

template <class N>
Estimator::Rates<N>::Rates(const Question& question)
    : PassRates<N>(question),
      low(question, question.workload.precision()),
      full(question, sixteen_bit(question.cluster.device)),
      attention(reached<N>(question.cluster.device, sixteen_bit(question.cluster.device),
                           question.cluster.device.efficiency.attention)),
      tile_columns(told<N>("columns of the widest tile", question.cluster.device.law.tile_columns)),
      processors(
          leaf<N>("streaming multiprocessors",
                  question.cluster.device.sm_count ? question.cluster.device.sm_count->value : ratio(1),
                  question.cluster.device.sm_count ? question.cluster.device.sm_count->source : Source{})),
      wave_share(told<N>("share of the time that waves stretch", question.cluster.device.law.wave_share)) {}

template <class N>
Seconds<N> Estimator::gemm_time(const Rates<N>& rates, const typename Rates<N>::Products& products,
                                double groups, const Ratio<N>& m, const Ratio<N>& n,
                                const Ratio<N>& k) const {
  const Ratio<N> count = leaf<N>("groups", groups, "experts or heads on the rank");
  Ratio<N> tiles(N(1.0));
  if (value_of(rates.wave_share) > 0) {
    tiles = call<TileSlowdown>(
        TileSlowdown::In<N>{count, m, n, rates.tile_columns, rates.processors, rates.wave_share});
  }
  return call<GemmTime>(
      GemmTime::In<N>{count, m, n, k, products.rate, products.k_half, tiles, products.element, rates.memory});
}

template <class N>
void Estimator::add_gemms(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                          LayerTime<N>& layer) const {
  const Ratio<N> t = micro_batch_tokens<N>(plan), routed = routed_tokens<N>(plan);
  const Sourced<Ratio<>>& few_rows = question_.cluster.device.law.expert_rows_half;
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
    Ratio<N> few(N(1.0));
    if (expert && few_rows.value.raw() > 0) {
      few = call<FewRows>(FewRows::In<N>{rows, told<N>("rows of an expert at half the rate", few_rows)});
    }
    const Seconds<N> forward = gemm_time<N>(rates, rates.low, groups, rows, out, in) * few;
    layer.gemm_forward += forward;
    layer.gemm_backward += gemm_time<N>(rates, rates.low, groups, rows, in, out) * few;
    if (frozen()) {
      // A frozen weight has no gradient; its adapters have.
      add_adapters<N>(plan, gemm, rates, groups, rows, layer);
      if (question_.workload.adapters.base) {
        const Seconds<N> widened = call<WidenTime>(WidenTime::In<N>{
            leaf<N>("weights of the product on the rank", groups * value_of(in) * value_of(out), source),
            base_width<N>(), rates.memory});
        layer.memory_forward += widened;
        layer.memory_backward += widened;
      }
    } else {
      const Seconds<N> weight = gemm_time<N>(rates, rates.low, groups, in, out, rows) * few;
      layer.gemm_backward += weight;
      layer.gemm_weight += weight;
    }
    if (gemm.modules == 0) continue;
    auto* const own = std::find_if(
        layer.of_modules.begin(), layer.of_modules.end(),
        [&](const auto& products) { return products.modules == gemm.modules || products.modules == 0; });
    own->modules = gemm.modules;
    own->forward += forward;
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
    layer.gemm_forward += gemm_time<N>(rates, rates.full, groups, rows, rank, in) +
                          gemm_time<N>(rates, rates.full, groups, rows, out, rank);
    const Seconds<N> weight = gemm_time<N>(rates, rates.full, groups, in, rank, rows) +
                              gemm_time<N>(rates, rates.full, groups, rank, out, rows);
    layer.gemm_backward += gemm_time<N>(rates, rates.full, groups, rows, in, rank) +
                           gemm_time<N>(rates, rates.full, groups, rows, rank, out) + weight;
    layer.gemm_weight += weight;
  }
}

/// Attention whose scores are never stored: one kernel a direction.
template <class N>
Seconds<N> Estimator::fused_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const {
  const KernelLaw& law = question_.cluster.device.law;
  const double sequence = d(question_.workload.sequence);
  const Ratio<N> t = micro_batch_tokens<N>(plan), one(N(1.0));
  const Ratio<N> heads = leaf<N>("heads on the rank", ops.heads / plan.tp, model_source_),
                 dims = leaf<N>("dimensions of a head", ops.qk_dim + ops.value_dim, model_source_);
  FlopsPerSecond<N> rate = rates.attention;
  constexpr double kNarrow = 64;
  if (ops.qk_dim <= kNarrow) rate = rate * told<N>("rate of narrow heads", law.narrow_heads);
  if (question_.framework.timing.older_attention.value > ratio(0)) {
    rate = rate * told<N>("rate of kernels for the generation before", law.older_attention);
  }
  const auto kernel = [&](const char* what, double keys, double met) {
    return call<AttentionTime>(AttentionTime::In<N>{t, leaf<N>(what, keys, "workload"), heads, dims,
                                                    leaf<N>("share of keys met", met, "causal mask"), rate});
  };
  Seconds<N> time = kernel("sequence", sequence, work::kCausalShare);
  if (ops.attended > 0 && ops.attended < sequence) {
    const Ratio<N> saved = told<N>("work outside the window that kernels skip", law.window_saved);
    time = kernel("window", ops.attended, 1) * saved + time * (one - saved);
  }
  if (law.attention_rows_half.value.raw() > 0) {
    time = time * call<FewRows>(FewRows::In<N>{
                      leaf<N>("queries of a sequence on the rank", sequence / plan.cp, "workload"),
                      told<N>("queries at half the rate", law.attention_rows_half)});
  }
  return time;
}

/// Two batched products over the whole square, and passes over the scores between them.
template <class N>
Seconds<N> Estimator::stored_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const {
  const KernelLaw& law = question_.cluster.device.law;
  const Ratio<N> keys = leaf<N>("sequence", d(question_.workload.sequence), "workload");
  const Ratio<N> queries = keys / degree<N>("context-parallel degree", plan.cp);
  const Ratio<N> heads = leaf<N>("heads on the rank", ops.heads / plan.tp, model_source_);
  const double batches = plan.micro_batch * ops.heads / plan.tp;
  const auto dims = [&](double of_head) { return leaf<N>("dimensions of a head", of_head, model_source_); };
  Seconds<N> products = gemm_time<N>(rates, rates.full, batches, queries, keys, dims(ops.qk_dim)) +
                        gemm_time<N>(rates, rates.full, batches, queries, dims(ops.value_dim), keys);
  constexpr double kAligned = 8;
  if (std::fmod(ops.qk_dim, kAligned) != 0) {
    products = products / told<N>("rate of unaligned heads", law.unaligned_heads);
  }
  return products + call<ScorePasses>(ScorePasses::In<N>{micro_batch_tokens<N>(plan), keys, heads,
                                                         told<N>("passes over scores", law.score_passes),
                                                         rates.activation, rates.memory});
}

template <class N>
void Estimator::add_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                              LayerTime<N>& layer) const {
  const KernelLaw& law = question_.cluster.device.law;
  if (ops.has_attention_core && question_.workload.kernels.fused_attention) {
    layer.attention_forward = fused_attention<N>(plan, ops, rates);
    layer.attention_backward =
        layer.attention_forward * Ratio<N>(N(work::kAttentionBackward)) /
        told<N>("rate of the backward kernel over the forward", law.attention_backward);
  } else if (ops.has_attention_core) {
    layer.attention_forward = stored_attention<N>(plan, ops, rates);
    layer.attention_backward = 2.0 * layer.attention_forward;
  } else if (ops.linear_state_flops > 0) {
    layer.attention_forward = micro_batch_tokens<N>(plan) *
                              leaf<N>("FLOP of the recurrent state a token",
                                      flops(ops.linear_state_flops / plan.tp), model_source_) /
                              rates.attention;
    layer.attention_backward = layer.attention_forward * Ratio<N>(N(work::kAttentionBackward));
  }
}

/// Elements a token that a layer's memory-bound kernels read and write inside the tensor-parallel region.
template <class N>
Ratio<N> Estimator::inner_elements(const Plan& plan, const LayerOps& ops) const {
  const KernelLaw& law = question_.cluster.device.law;
  const auto count = [&](const char* what, double width) { return leaf<N>(what, width, model_source_); };
  const Ratio<N> tensor = degree<N>("tensor-parallel degree", plan.tp);
  double inner = kRotaryPasses * (ops.query_width + ops.kv_width) + ops.mixer_extra_width;
  if (ops.mlp_matrices > 0) inner += (ops.mlp_matrices + 1) * (ops.mlp_width + ops.shared_width);
  Ratio<N> sum = count("inner elements read and written a token", inner) / tensor;
  if (ops.linear_state_flops > 0 && law.scan_passes.value > ratio(0)) {
    sum += told<N>("passes of the recurrent scan", law.scan_passes) * count("inner width", ops.value_width) /
           tensor;
  }
  if (ops.experts == 0) return sum;
  // Rows of routed tokens, spread over the tokens of the micro-batch.
  Ratio<N> row =
      told<N>("passes over routed rows", law.permute_passes) * count("routed width", ops.routed_width) +
      count("expert width read and written", (ops.mlp_matrices + 1) * ops.expert_width);
  if (ops.biased_experts) {
    row += told<N>("passes over biased experts", law.biased_expert_passes) *
           count("expert width", ops.expert_width);
  }
  return sum + row * expert_rows_of_token<N>(ops) / sequence_share<N>(plan);
}

/// Inputs of low-precision products, read in 16 bits and written again.
template <class N>
Seconds<N> Estimator::cast_time(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const {
  const Precision precision = question_.workload.precision();
  const Sourced<Ratio<>>& passes = question_.cluster.device.law.cast_passes;
  if ((precision != Precision::kFp8 && precision != Precision::kFp4) || passes.value.raw() <= 0) return {};
  const double hidden = d(question_.model.hidden), sharers = plan.sequence_parallel ? plan.tp : 1;
  double elements = hidden + ops.value_width / plan.tp;
  if (ops.mlp_width > 0) elements += hidden + ops.mlp_width / plan.tp;
  if (ops.experts > 0) elements += ops.top_k / sharers * (ops.routed_width + ops.expert_width);
  // fp4 is scaled in smaller blocks and keeps a second, transposed copy.
  constexpr double kFp4 = 1.5, kReadAndWrite = 2;
  return call<CastTime>(CastTime::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("elements cast a token", elements, model_source_),
      told<N>("passes of a cast", passes) *
          leaf<N>("read and write, by precision", kReadAndWrite * (precision == Precision::kFp4 ? kFp4 : 1.0),
                  name(precision)),
      rates.activation, rates.memory});
}

template <class N>
void Estimator::add_memory_bound(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                                 LayerTime<N>& layer) const {
  const KernelLaw& law = question_.cluster.device.law;
  const Timing& timing = question_.framework.timing;
  const double blocks = ops.mlp_matrices > 0 ? 2 : 1, passes = blocks * (kNormPasses + kResidualPasses);
  const Seconds<N> kernel =
      call<MemoryBoundTime>(MemoryBoundTime::In<N>{
          micro_batch_tokens<N>(plan),
          leaf<N>("passes over the residual stream", passes, "norms and residual adds"),
          leaf<N>("hidden size", d(question_.model.hidden), model_source_), sequence_share<N>(plan),
          inner_elements<N>(plan, ops), rates.activation, rates.memory}) *
      rates.elementwise;
  const Seconds<N> cast = cast_time<N>(plan, ops, rates);
  layer.memory_forward += kernel + cast;
  // Inputs and gradients are cast, in both layouts.
  layer.memory_backward +=
      kernel * told<N>("backward traffic over forward", law.backward_passes) + 2.0 * cast;
  if (ops.experts > 0) {
    const bool graphed = question_.workload.kernels.captured_graphs;
    layer.routing =
        told<N>("routing and host synchronisation", graphed ? timing.moe_layer_graphed : timing.moe_layer);
  }
}

/// The device waits where its kernels and collectives, one after the other, take less than the host's
/// launches of them.
template <class N>
void Estimator::add_launches(const LayerOps& ops, const Seconds<N>& launch, LayerTime<N>& layer) const {
  double kernels = ops.has_attention_core ? kAttentionKernels : kRecurrentKernels;
  if (ops.mlp_matrices > 0) kernels += ops.experts > 0 ? kMoeKernels : kMlpKernels;
  if (frozen()) kernels += kAdapterKernels * adapter_count(ops);
  const auto idle = [&](const Seconds<N>& device, double count) {
    return call<LaunchFloor>(
        LaunchFloor::In<N>{device, leaf<N>("kernels", count, "kernels of one layer"), launch});
  };
  layer.launch_forward = idle(layer.forward_pass(), kernels);
  layer.launch_backward = idle(layer.backward_pass(), kBackwardKernels * kernels);
}

/// Forward work that the backward pass does again.
template <class N>
Seconds<N> Estimator::recompute_time(const Plan& plan, const LayerOps& ops, const LayerTime<N>& layer) const {
  const Recompute& again = plan.recompute;
  if (again.whole_layers()) return layer.forward_pass();
  if (keeps_selective_products(plan)) {
    const Sourced<Ratio<>>& kept = question_.framework.buffers.selective_products;
    return layer.memory_forward + layer.gemm_forward * (Ratio<N>(N(1.0)) - told<N>("products kept", kept));
  }
  Seconds<N> sum{};
  for (const auto& products : layer.of_modules)
    if ((products.modules & again.modules) != 0) sum += products.forward;
  if (again.has(Module::kCoreAttention)) sum += layer.attention_forward;
  if (again == Recompute::kNone || again == Recompute::kSelective) return sum;
  const PassRates<N> rates(question_);
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
  if (moe && (whole_moe || again.has(Module::kMoeActivation))) {
    inner += ops.top_k / sharers * (ops.mlp_matrices + 1) * ops.expert_width;
  }
  Ratio<N> elements = leaf<N>("inner elements read and written a token", inner, model_source_);
  if (whole_moe) {
    elements +=
        told<N>("passes over routed rows", question_.cluster.device.law.permute_passes) *
        leaf<N>("routed width of the rank's rows", ops.top_k / sharers * ops.routed_width, model_source_);
  }
  sum +=
      call<MemoryBoundTime>(MemoryBoundTime::In<N>{
          micro_batch_tokens<N>(plan), leaf<N>("passes over the residual stream", passes, "recomputed norms"),
          leaf<N>("hidden size", d(question_.model.hidden), model_source_),
          leaf<N>("sequence-parallel degree", sharers, "plan"), elements, rates.activation, rates.memory}) *
      rates.elementwise;
  if (whole_moe) sum += layer.expert_exposed;
  // A layer's collective of the MLP is one of its two of each direction.
  if (mlp || shared || (whole_moe && plan.etp > 1)) sum += layer.tensor_forward_exposed / Ratio<N>(N(2.0));
  return sum;
}

template <class N>
Estimator::LayerTime<N> Estimator::layer_kernels(const Plan& plan, const LayerOps& ops,
                                                 const Rates<N>& rates) const {
  LayerTime<N> layer;
  add_gemms<N>(plan, ops, rates, layer);
  add_attention<N>(plan, ops, rates, layer);
  add_memory_bound<N>(plan, ops, rates, layer);
  return layer;
}

template <class N>
void Estimator::logits_time(const Plan& plan, const Rates<N>& rates, Seconds<N>& forward,
                            Seconds<N>& backward, Seconds<N>& weight) const {
  if (question_.model.vocab == 0) return;
  // A prediction layer computes logits and a loss of its own.
  const Ratio<N> t =
      micro_batch_tokens<N>(plan) * leaf<N>("losses", 1.0 + d(question_.workload.mtp_layers), "workload");
  const Ratio<N> out = leaf<N>("vocabulary on the rank", d(question_.model.vocab) / plan.tp, model_source_);
  const Ratio<N> in = leaf<N>("hidden size", d(question_.model.hidden), model_source_);
  const auto product = [&](const Ratio<N>& m, const Ratio<N>& n, const Ratio<N>& k) {
    return gemm_time<N>(rates, rates.full, 1, m, n, k);
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
#define SHARDPLAN_INSTANTIATE(N)                                                                             \
  template struct Estimator::PassRates<N>;                                                                   \
  template struct Estimator::Rates<N>;                                                                       \
  template Estimator::LayerTime<N> Estimator::layer_kernels<N>(const Plan&, const LayerOps&,                 \
                                                               const Rates<N>&) const;                       \
  template void Estimator::add_launches<N>(const LayerOps&, const Seconds<N>&, LayerTime<N>&) const;         \
  template Seconds<N> Estimator::recompute_time<N>(const Plan&, const LayerOps&, const LayerTime<N>&) const; \
  template void Estimator::logits_time<N>(const Plan&, const Rates<N>&, Seconds<N>&, Seconds<N>&,            \
                                          Seconds<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace shardplan
