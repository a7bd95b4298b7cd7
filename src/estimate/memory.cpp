// Memory of one pipeline stage: state, live activations, logits, transients.
#include <algorithm>
#include <type_traits>

#include "cost/activations_ops.h"
#include "cost/activations_paper.h"
#include "cost/state.h"
#include "estimate/estimator.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

// Bytes of one logit: the 16-bit logits and one fp32 tensor (formula memory.logits).
constexpr Bytes<> kLogitBytes = bytes(6);

template <class N>
Ratio<N> degree(const char* axis, std::int64_t value) {
  return leaf<N>(axis, d(value), "plan");
}

template <class N>
Ratio<N> sequence_share(const Plan& plan) {
  return plan.sequence_parallel ? degree<N>("sequence-parallel degree", plan.tp)
                                : degree<N>("no sequence parallelism", 1);
}

}  // namespace

template <class N>
Ratio<N> Estimator::micro_batch_tokens(const Plan& plan) const {
  return named("tokens of one micro-batch on the rank",
               leaf<N>("sequence", d(question_.workload.sequence), "workload") *
                   degree<N>("micro-batch", plan.micro_batch) /
                   degree<N>("context-parallel degree", plan.cp));
}

template <class N>
Ratio<N> Estimator::routed_tokens(const Plan& plan) const {
  return micro_batch_tokens<N>(plan) / sequence_share<N>(plan);
}

double Estimator::stage_parameters(const Plan& plan, int stage, double& expert) const {
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  double dense = 0;
  expert = 0;
  for (std::int64_t chunk = stage; chunk < std::int64_t{plan.pp} * plan.interleave; chunk += plan.pp) {
    const LayerRange range = chunk_layers(layers, plan, chunk);
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      const LayerOps& ops = kinds_.kinds[k];
      const double count = d(kinds_.count(k, range.first, range.last));
      dense += count * (ops.tensor_parameters / plan.tp + ops.replicated_parameters);
      expert += count * ops.expert_parameters / (d(plan.ep) * plan.etp);
    }
  }
  const bool first = stage == 0, last = stage == plan.pp - 1;
  if (first) dense += first_edge_tensor_ / plan.tp + first_edge_whole_;
  // A tied table is one tensor when both ends are on the same stage, a copy otherwise.
  if (last && !(first && question_.model.tied_embeddings)) dense += last_edge_tensor_ / plan.tp;
  if (last) dense += last_edge_whole_;
  return dense;
}

bool Estimator::keeps_extra_gradient(const Framework::ExtraGradient& extra, const Plan& plan) const {
  using When = Framework::ExtraGradient::When;
  // In fp16 that framework keeps the fp32 gradients too, but only its shard of them
  // (second_gradient_sharded).
  if (extra.when == When::kBf16) return question_.workload.precision != Precision::kFp32;
  return extra.when == When::kAlways || dense_shard_group(plan).count > 1;
}

bool Estimator::second_gradient_sharded(const Framework::ExtraGradient& extra, const Plan& plan) const {
  const bool shard_only =
      extra.when == Framework::ExtraGradient::When::kBf16 && question_.workload.precision != Precision::kBf16;
  if (shard_only) return plan.zero_stage >= 1;
  return extra.sharded_from_stage && plan.zero_stage >= *extra.sharded_from_stage;
}

const Sourced<Bytes<>>& Estimator::gathered_weight() const {
  const auto& gathered = question_.framework.gathered_weight_bytes;
  return gathered ? *gathered
                  : question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)].weight;
}

template <class N>
void Estimator::add_state(const Plan& plan, int stage, MemoryBreakdown<N>& memory) const {
  double expert_count = 0;
  const double dense_count = stage_parameters(plan, stage, expert_count);
  const Ratio<N> dense = leaf<N>("dense parameters on the rank", dense_count, model_source_);
  const Ratio<N> expert = leaf<N>("expert parameters on the rank", expert_count, model_source_);
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const auto term = [&](const char* what, Bytes<> size, const Source& source, bool sharded) {
    return call<StateTerm>(
        StateTerm::In<N>{leaf<N>(what, size, source), dense,
                         degree<N>("dense shards", sharded ? dense_shard_group(plan).count : 1), expert,
                         degree<N>("expert shards", sharded ? expert_shard_group(plan).count : 1)});
  };
  // Where gathered weights are narrower than the shard (FSDP), the shard is the master: it stays divided, and
  // a stage that keeps whole weights between passes keeps the gathered ones.
  const auto& gathered = question_.framework.gathered_weight_bytes;
  const bool whole_beside_shard = gathered && shards.optimizer && !shards.weights;
  memory[MemoryTerm::kWeights] =
      term("weight bytes", kept.weight.value, kept.weight.source, shards.weights || whole_beside_shard);
  if (whole_beside_shard) {
    memory[MemoryTerm::kWeights] += term("gathered weight bytes", gathered->value, gathered->source, false);
  }
  memory[MemoryTerm::kGradients] =
      term("gradient bytes", kept.gradient.value, kept.gradient.source, shards.gradients);
  memory[MemoryTerm::kOptimizer] =
      term("optimizer bytes", kept.optimizer(), kept.moments.source, shards.optimizer);
  const auto& extra = question_.framework.extra_gradient;
  if (extra && keeps_extra_gradient(*extra, plan)) {
    memory[MemoryTerm::kGradients] += term("second gradient buffer", extra->bytes.value, extra->bytes.source,
                                           second_gradient_sharded(*extra, plan));
  }
}

template <class N>
Bytes<N> Estimator::layer_activations(const Plan& plan, std::size_t kind, ActivationModel model) const {
  const LayerOps& ops = kinds_.kinds[kind];
  const auto count = [&](const char* what, double value) { return leaf<N>(what, value, model_source_); };
  const Ratio<N> t = micro_batch_tokens<N>(plan), hidden = count("hidden size", d(question_.model.hidden));
  const Ratio<N> tensor = degree<N>("tensor-parallel degree", plan.tp), shared = sequence_share<N>(plan);
  if (plan.recompute == Recompute::kFull)
    return call<PaperLayerFull>(PaperLayerFull::In<N>{t, hidden, shared});
  if (model == ActivationModel::kPaper) {
    if (plan.recompute == Recompute::kSelective) {
      return call<PaperLayerSelective>(PaperLayerSelective::In<N>{t, hidden, tensor, shared});
    }
    const Ratio<N> sequence = leaf<N>("sequence", d(question_.workload.sequence), "workload");
    return call<PaperLayerNone>(
        PaperLayerNone::In<N>{t, hidden, count("attention heads", ops.heads), sequence, tensor, shared});
  }
  Bytes<N> sum = call<NormActivations>(NormActivations::In<N>{t, hidden, shared});
  if (ops.has_attention_core) {
    // Selective recomputation runs the attention core again: its statistics are not kept.
    const double heads = plan.recompute == Recompute::kSelective ? 0.0 : ops.heads;
    sum += call<AttentionActivations>(AttentionActivations::In<N>{
        t, count("query width", ops.query_width + ops.mixer_extra_width),
        count("key and value width", ops.kv_width), count("attention output width", ops.value_width),
        count("latent width", ops.latent_width), count("heads whose statistics are kept", heads), tensor,
        shared});
  } else if (ops.value_width > 0) {
    sum += call<RecurrentActivations>(RecurrentActivations::In<N>{
        t, count("mixer width", ops.value_width), count("inner width", ops.mixer_extra_width), tensor});
  }
  if (ops.mlp_matrices <= 0) return sum;
  sum += call<NormActivations>(NormActivations::In<N>{t, hidden, shared});
  const Ratio<N> matrices = count("matrices before the activation", ops.mlp_matrices);
  const double dense_width = ops.experts > 0 ? ops.shared_width : ops.mlp_width;
  if (dense_width > 0) {
    sum += call<MlpActivations>(MlpActivations::In<N>{t, count("MLP width", dense_width), matrices, tensor});
  }
  if (ops.experts > 0) {
    sum += call<MoeActivations>(MoeActivations::In<N>{
        routed_tokens<N>(plan), count("experts", ops.experts), count("experts a token", ops.top_k), hidden,
        count("expert width", ops.expert_width), matrices, degree<N>("expert-tensor degree", plan.etp)});
  }
  return sum;
}

template <class N>
Bytes<N> Estimator::live_activations(const Plan& plan, int stage) const {
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  const Ratio<N> pieces = degree<N>("model chunks on the rank", plan.interleave);
  const Ratio<N> micro_batches = degree<N>("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp), rank = degree<N>("stage", stage);
  // The paper's closed form for interleaving supposes a full pipeline; the op-by-op account counts what there
  // is.
  const bool closed_form =
      question_.activations == ActivationModel::kPaper && plan.grad_accumulation >= plan.pp;
  Ratio<N> chunks = closed_form ? call<InFlightFull>(InFlightFull::In<N>{stages, rank, pieces})
                                : call<InFlight>(InFlight::In<N>{stages, rank, pieces, micro_batches});
  if (plan.schedule == Schedule::kGpipe) chunks = micro_batches;
  const auto chunk_bytes = [&](std::int64_t chunk) {
    const LayerRange range = chunk_layers(layers, plan, chunk);
    Bytes<N> sum{};
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      const double count = d(kinds_.count(k, range.first, range.last));
      if (count == 0) continue;
      const Bytes<N> part = leaf<N>("layers of a chunk", count, model_source_) *
                            layer_activations<N>(plan, k, question_.activations);
      sum = value_of(sum) == 0 ? part : sum + part;
    }
    return sum;
  };
  if (kinds_.kinds.size() == 1 || plan.interleave == 1) return chunks * chunk_bytes(stage);
  // Interleaved and uneven: chunks are alive in schedule order, pp micro-batches of one chunk after the
  // other.
  Bytes<N> sum{};
  double left = value_of(chunks);
  for (std::int64_t i = 0; left > 0; ++i) {
    const double alive = std::min(left, d(plan.pp));
    sum += leaf<N>("micro-batches of the chunk", alive, "schedule") *
           chunk_bytes(stage + (i % plan.interleave) * plan.pp);
    left -= alive;
  }
  return sum;
}

template <class N>
Bytes<N> Estimator::stage_transient(const Plan& plan, int stage, const Bytes<N>& logits) const {
  const LayerRange range =
      chunk_layers(static_cast<std::int64_t>(question_.model.layers.size()), plan, stage);
  const Ratio<N> t = micro_batch_tokens<N>(plan),
                 hidden = leaf<N>("hidden size", d(question_.model.hidden), model_source_);
  const Ratio<N> tensor = degree<N>("tensor-parallel degree", plan.tp), shared = sequence_share<N>(plan);
  const bool gathers = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].weights &&
                       dense_shard_group(plan).count > 1;
  Plan whole = plan;
  whole.recompute = Recompute::kNone;
  Bytes<N> backward{}, gathered{};
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    if (kinds_.count(k, range.first, range.last) == 0) continue;
    const LayerOps& ops = kinds_.kinds[k];
    // Rows of routed tokens count as width: top-k experts for each token.
    const double width = ops.experts > 0 ? ops.top_k * ops.expert_width + ops.shared_width : ops.mlp_width;
    Bytes<N> one = call<LayerBackwardTransient>(LayerBackwardTransient::In<N>{
        t, hidden, leaf<N>("MLP width", width, model_source_),
        leaf<N>("matrices before the activation", ops.mlp_matrices, model_source_), tensor, shared});
    if (plan.recompute == Recompute::kFull) {
      one += named("layer that is recomputed", layer_activations<N>(whole, k, question_.activations));
    }
    backward = value_of(backward) == 0 ? one : max(backward, one);
    if (!gathers) continue;
    const StateBytes& kept =
        question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
    const double parameters = ops.tensor_parameters / plan.tp + ops.replicated_parameters +
                              ops.expert_parameters / (d(plan.ep) * plan.etp);
    const Bytes<N> unit = call<GatheredLayers>(GatheredLayers::In<N>{
        leaf<N>("parameters of a layer", parameters, model_source_),
        leaf<N>("gathered weight bytes", gathered_weight().value, gathered_weight().source),
        leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source)});
    gathered = value_of(gathered) == 0 ? unit : max(gathered, unit);
  }
  // The loss is over before the top layer runs backward: the larger of the two is the peak.
  const Bytes<N> beyond = max(backward - logits, Bytes<N>(N(0.0)));
  return gathers ? beyond + gathered : beyond;
}

template <class N>
MemoryBreakdown<N> Estimator::stage_memory(const Plan& plan, int stage) const {
  MemoryBreakdown<N> memory;
  add_state<N>(plan, stage, memory);
  memory[MemoryTerm::kActivations] = live_activations<N>(plan, stage);
  Bytes<N> logits{};
  if (stage == plan.pp - 1 && question_.model.vocab > 0) {
    logits = call<Logits>(Logits::In<N>{
        micro_batch_tokens<N>(plan), leaf<N>("vocabulary", d(question_.model.vocab), model_source_),
        degree<N>("tensor-parallel degree", plan.tp),
        leaf<N>("bytes a logit", kLogitBytes, "16-bit logits and one fp32 tensor")});
  }
  memory[MemoryTerm::kLogits] = logits;
  // The closed forms of the paper know no working buffers.
  if (question_.activations == ActivationModel::kOps) {
    memory[MemoryTerm::kTransient] = stage_transient<N>(plan, stage, logits);
  }
  return memory;
}

template <class N>
MemoryBreakdown<N> Estimator::fullest_memory(const Plan& plan, int& stage) const {
  stage = 0;
  MemoryBreakdown<N> fullest = stage_memory<N>(plan, 0);
  for (int s = 1; s < plan.pp; ++s) {
    // Between the ends, an earlier stage keeps at least as much as a later one of the same layers.
    if (kinds_.kinds.size() == 1 && s != plan.pp - 1 && s != 1) continue;
    MemoryBreakdown<N> memory = stage_memory<N>(plan, s);
    if (fullest.total() < memory.total()) {
      fullest = memory;
      stage = s;
    }
  }
  return fullest;
}

#define SHARDPLAN_INSTANTIATE(N)                                                                      \
  template Ratio<N> Estimator::micro_batch_tokens<N>(const Plan&) const;                              \
  template Ratio<N> Estimator::routed_tokens<N>(const Plan&) const;                                   \
  template Bytes<N> Estimator::layer_activations<N>(const Plan&, std::size_t, ActivationModel) const; \
  template MemoryBreakdown<N> Estimator::stage_memory<N>(const Plan&, int) const;                     \
  template MemoryBreakdown<N> Estimator::fullest_memory<N>(const Plan&, int&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
