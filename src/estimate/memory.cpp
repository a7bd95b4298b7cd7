// Memory that a pipeline stage keeps: its state, and the activations of the micro-batches in flight.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "cost/activations_ops.h"
#include "cost/activations_paper.h"
#include "cost/schedules.h"
#include "cost/state.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

// Of a multi-token-prediction layer beside its transformer layer's own: of the embedding, of the stream, of
// the result.
constexpr double kPredictionNorms = 3;

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

template <class N>
Ratio<N> Estimator::expert_rows_of_token(const LayerOps& ops) const {
  Ratio<N> balanced = leaf<N>("experts a token", ops.top_k, model_source_);
  const double load = question_.workload.expert_load;
  if (load == 1) return balanced;
  return named("rows of a token on the fullest rank",
               balanced * leaf<N>("load of the fullest rank over the balanced one", load, "workload"));
}

double Estimator::vocabulary(const Plan& plan) const {
  const double multiple = question_.framework.buffers.vocabulary_multiple.value.raw();
  const double rows = d(question_.model.vocab);
  return multiple > 1 ? std::ceil(rows / (multiple * plan.tp)) * multiple * plan.tp : rows;
}

double Estimator::table_parameters(const Plan& plan) const {
  return has_table_ ? vocabulary(plan) * d(question_.model.hidden) : 0;
}

void Estimator::add_prediction_layers(const Plan& plan, bool first, double& dense, double& expert) const {
  const double layers = d(question_.workload.mtp_layers), hidden = d(question_.model.hidden);
  if (layers == 0) return;
  const LayerOps& ops = kinds_.kinds[last_kind()];
  // The product reads two streams; three norms as the model's final one; the table is the embedding's, a copy
  // where that is on another stage.
  dense += layers * ((ops.tensor_parameters + 2 * hidden * hidden) / plan.tp + ops.replicated_parameters +
                     kPredictionNorms * last_edge_whole_);
  expert += layers * ops.expert_parameters / (d(plan.ep) * plan.etp);
  if (!first) dense += table_parameters(plan) / plan.tp;
}

double Estimator::stage_parameters(const Plan& plan, int stage, double& expert) const {
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  double dense = 0;
  expert = 0;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const LayerRange range = chunk_layers(layers, plan, rank_chunk(plan, stage, i));
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      const LayerOps& ops = kinds_.kinds[k];
      const double count = d(kinds_.count(k, range.first, range.last));
      dense += count * (ops.tensor_parameters / plan.tp + ops.replicated_parameters);
      expert += count * ops.expert_parameters / (d(plan.ep) * plan.etp);
    }
  }
  const bool first = holds_first_chunk(plan, stage), last = holds_last_chunk(plan, stage);
  if (first) dense += table_parameters(plan) / plan.tp + first_edge_whole_;
  // A tied table is one tensor when both ends are on the same stage, a copy otherwise.
  if (last && !(first && question_.model.tied_embeddings)) dense += table_parameters(plan) / plan.tp;
  if (last) dense += last_edge_whole_;
  if (last) add_prediction_layers(plan, first, dense, expert);
  return dense;
}

double Estimator::trained_parameters(const Plan& plan, int stage, double& expert) const {
  if (!frozen()) return stage_parameters(plan, stage, expert);
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  double dense = 0;
  expert = 0;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const LayerRange range = chunk_layers(layers, plan, rank_chunk(plan, stage, i));
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      const AdaptedWidths widths = adapted_widths(plan, kinds_.kinds[k]);
      const double count = d(kinds_.count(k, range.first, range.last));
      dense += count * widths.dense;
      expert += count * widths.expert;
    }
  }
  const double rank = d(question_.workload.adapters.rank);
  expert *= rank;
  return dense * rank;
}

bool Estimator::keeps_extra_gradient(const Framework::ExtraGradient& extra, const Plan& plan) const {
  using When = Framework::ExtraGradient::When;
  if (extra.when == When::kBf16) return question_.workload.precision() != Precision::kFp16;
  return extra.when == When::kAlways || plan.replicas() > 1;
}

const Sourced<Bytes<>>& Estimator::gathered_weight() const {
  const auto& gathered = question_.framework.gathered_weight_bytes;
  return gathered ? *gathered
                  : question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)].weight;
}

/// Elements of the flat buffer that `parameters` lie in where the optimizer's state is divided over `shards`.
template <class N>
Ratio<N> Estimator::padded(const Plan& plan, const Ratio<N>& parameters, std::int64_t shards) const {
  const Framework::Buffers& buffers = question_.framework.buffers;
  const double per_shard = buffers.shard_multiple.value.raw(), whole = buffers.bucket_multiple.value.raw();
  const bool sharded = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].optimizer;
  if (!sharded || per_shard * whole == 1) return parameters;
  const auto multiple =
      std::lcm(shards * static_cast<std::int64_t>(per_shard), static_cast<std::int64_t>(whole));
  return call<PaddedElements>(typename PaddedElements::In<N>{
      parameters, leaf<N>("multiple that the buffer is padded to", d(multiple),
                          whole > 1 ? buffers.bucket_multiple.source : buffers.shard_multiple.source)});
}

template <class N>
void Estimator::add_state(const Plan& plan, int stage, MemoryBreakdown<N>& memory) const {
  double expert = 0;
  const double dense = trained_parameters(plan, stage, expert);
  add_state<N>(
      plan,
      padded<N>(plan, leaf<N>("dense parameters on the rank", dense, model_source_), dense_shards(plan)),
      padded<N>(plan, leaf<N>("expert parameters on the rank", expert, model_source_), expert_shards(plan)),
      memory);
  if (frozen()) memory[MemoryTerm::kWeights] += frozen_weights<N>(plan, stage);
}

/// State of parameters that are trained.
template <class N>
void Estimator::add_state(const Plan& plan, const Ratio<N>& dense, const Ratio<N>& expert,
                          MemoryBreakdown<N>& memory) const {
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const auto term = [&](const char* what, Bytes<> size, const Source& source, bool sharded) {
    const auto parts = [&](const Group& group) { return sharded ? group.count : 1; };
    return call<StateTerm>(StateTerm::In<N>{leaf<N>(what, size, source), dense,
                                            degree<N>("dense shards", parts(dense_shard_group(plan))), expert,
                                            degree<N>("expert shards", parts(expert_shard_group(plan)))});
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
  const auto& keeps = question_.framework.pipeline_keeps_gathered;
  const bool keeps_gathered = keeps && shards.weights && plan.pp > 1;
  if (keeps_gathered) {
    memory[MemoryTerm::kWeights] +=
        term("weights gathered for all micro-batches", gathered_weight().value, *keeps, false);
  }
  memory[MemoryTerm::kGradients] =
      term("gradient bytes", kept.gradient.value, kept.gradient.source, shards.gradients);
  if (keeps_gathered) {
    memory[MemoryTerm::kGradients] +=
        term("gradients unreduced until the last micro-batch", kept.gradient.value, *keeps, false);
  }
  memory[MemoryTerm::kOptimizer] =
      term("optimizer bytes", kept.optimizer(), kept.moments.source, shards.optimizer);
  const auto& extra = question_.framework.extra_gradient;
  if (extra && keeps_extra_gradient(*extra, plan)) {
    memory[MemoryTerm::kGradients] +=
        term("second gradient buffer", extra->bytes.value, extra->bytes.source,
             extra->sharded_from_stage && plan.zero_stage >= *extra->sharded_from_stage);
  }
}

template <class N>
Bytes<N> Estimator::product_input(bool in_layer) const {
  const auto& input = quantized().product_input;
  if (in_layer && input.value > bytes(0))
    return leaf<N>("bytes of a product's input", input.value, input.source);
  return leaf<N>("bytes of a product's input", kept::kActivation, "16 bits");
}

template <class N>
Bytes<N> Estimator::norm_activations(const Plan& plan, Norm norm) const {
  const bool in_layer = norm != Norm::kFinal;
  // A frozen head reads the final norm; a frozen product that no adapter stands beside needs no input.
  const bool read = norm == Norm::kFinal
                        ? !frozen()
                        : keeps_input(norm == Norm::kMixer ? targets::kProjections : targets::kMlpInputs);
  const auto& gathered = question_.framework.buffers.gathered_column_inputs;
  const Ratio<N> shared = sequence_share<N>(plan);
  return call<NormActivations>(NormActivations::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("hidden size", d(question_.model.hidden), model_source_), shared,
      gathered.value > ratio(0) ? leaf<N>("kept gathered", ratio(1), gathered.source) : shared,
      leaf<N>("dropout masks", in_layer && question_.workload.kernels.hidden_dropout ? 1 : 0, "workload"),
      leaf<N>("outputs kept", !read || (in_layer && plan.recompute.has(Module::kLayerNorm)) ? 0 : 1, "plan"),
      product_input<N>(in_layer)});
}

template <class N>
Bytes<N> Estimator::attention_activations(const Plan& plan, const LayerOps& ops) const {
  const Kernels& kernels = question_.workload.kernels;
  const auto count = [&](const char* what, double value) { return leaf<N>(what, value, model_source_); };
  const bool recomputed = plan.recompute.has(Module::kCoreAttention), fused = kernels.fused_attention;
  const double projected = ops.latent_attention && plan.recompute.has(Module::kMlaUpProjection) ? 0.0 : 1.0;
  const double statistics = fused && !recomputed ? ops.heads : 0.0;
  const double scores = fused || recomputed ? 0.0 : ops.heads * attended_keys(plan, ops);
  return call<AttentionActivations>(AttentionActivations::In<N>{
      micro_batch_tokens<N>(plan), count("query width", projected * ops.query_width + ops.mixer_extra_width),
      count("key and value width", projected * ops.kv_width),
      count("attention output width", ops.value_width), count("latent width", ops.latent_width),
      count("query and key width", ops.qk_norm ? ops.query_width + ops.kv_width / 2 : 0.0),
      count("copies of the output", fused && plan.cp > 1 ? 2 : 1),
      count("heads whose statistics are kept", statistics), count("scores a token", scores),
      leaf<N>("bytes a score", kernels.attention_dropout ? kept::kDroppedScore : kept::kActivation,
              "kernels"),
      degree<N>("tensor-parallel degree", plan.tp), sequence_share<N>(plan)});
}

bool Estimator::keeps_selective_products(const Plan& plan) const {
  return plan.recompute == Recompute::kSelective &&
         question_.framework.buffers.selective_products.value > ratio(0) &&
         question_.activations == ActivationModel::kOps;
}

template <class N>
Bytes<N> Estimator::layer_activations(const Plan& plan, std::size_t kind, ActivationModel model) const {
  const LayerOps& ops = kinds_.kinds[kind];
  const auto count = [&](const char* what, double value) { return leaf<N>(what, value, model_source_); };
  const Ratio<N> t = micro_batch_tokens<N>(plan), hidden = count("hidden size", d(question_.model.hidden));
  const Ratio<N> tensor = degree<N>("tensor-parallel degree", plan.tp), shared = sequence_share<N>(plan);
  if (plan.recompute.kind == Recompute::Kind::kUniform) return layer_inputs<N>(plan);
  if (model == ActivationModel::kPaper) {
    if (plan.recompute.has(Module::kCoreAttention)) {
      return call<PaperLayerSelective>(PaperLayerSelective::In<N>{t, hidden, tensor, shared});
    }
    const Ratio<N> sequence = leaf<N>("sequence", d(question_.workload.sequence), "workload");
    return call<PaperLayerNone>(
        PaperLayerNone::In<N>{t, hidden, count("attention heads", ops.heads), sequence, tensor, shared});
  }
  if (keeps_selective_products(plan)) {
    return call<SelectiveProductActivations>(SelectiveProductActivations::In<N>{
        t, hidden, count("attention output width", ops.value_width), count("heads", ops.heads),
        count("widths of the products kept, split", ops.query_width + ops.kv_width / 2 + ops.mlp_width),
        tensor, shared});
  }
  Bytes<N> sum = norm_activations<N>(plan, Norm::kMixer);
  if (frozen()) sum += adapter_activations<N>(plan, ops);
  if (ops.has_attention_core) {
    sum += attention_activations<N>(plan, ops);
  } else if (ops.value_width > 0) {
    sum += call<RecurrentActivations>(RecurrentActivations::In<N>{
        t, count("mixer width", ops.value_width), count("inner width", ops.mixer_extra_width), tensor});
  }
  if (ops.mlp_matrices <= 0) return sum;
  sum += norm_activations<N>(plan, Norm::kMlp);
  const Ratio<N> matrices = count("matrices before the activation", ops.mlp_matrices);
  const auto& copies = question_.framework.buffers.gated_copies;
  const Ratio<N> unfused = ops.mlp_matrices > 1
                               ? leaf<N>("widths kept by an unfused gate", copies.value, copies.source)
                               : leaf<N>("no gate", ratio(0), model_source_);
  const bool moe = ops.experts > 0, whole_moe = plan.recompute.has(Module::kMoe);
  const double dense_width = moe ? ops.shared_width : ops.mlp_width;
  const bool dense_again =
      moe ? whole_moe || plan.recompute.has(Module::kSharedExperts) : plan.recompute.has(Module::kMlp);
  if (dense_width > 0 && !dense_again) {
    sum += call<MlpActivations>(MlpActivations::In<N>{
        t, count("MLP width", dense_width), matrices, unfused, tensor,
        keeps_input(targets::kDownward) ? product_input<N>(!moe)
                                        : leaf<N>("bytes of a product's input", bytes(0), "frozen")});
  }
  if (moe && !whole_moe) {
    const Kernels& kernels = question_.workload.kernels;
    const bool act_again = plan.recompute.has(Module::kMoeActivation);
    sum += call<MoeActivations>(MoeActivations::In<N>{
        routed_tokens<N>(plan), count("experts", ops.experts), expert_rows_of_token<N>(ops), hidden,
        count("expert width", ops.expert_width), matrices, degree<N>("expert-tensor degree", plan.etp),
        count("unweighted copies", kernels.fused_expert_activation || act_again ? 0 : 1),
        count("ranks whose tokens are gathered",
              kernels.gathers_expert_tokens ? d(std::int64_t{plan.ep} * plan.etp) : 0),
        leaf<N>("activation outputs kept", act_again || !keeps_input(targets::kDownward) ? 0 : 1, "plan"),
        leaf<N>("permuted tokens kept", keeps_input(targets::kMlpInputs) ? 1 : 0, "plan")});
  }
  return sum;
}

/// The input of one layer, which a recomputed layer or group of layers keeps.
template <class N>
Bytes<N> Estimator::layer_inputs(const Plan& plan) const {
  return call<PaperLayerFull>(PaperLayerFull::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("hidden size", d(question_.model.hidden), model_source_),
      sequence_share<N>(plan)});
}

template <class N>
Bytes<N> Estimator::chunk_bytes(const Plan& plan, std::int64_t chunk, const LayerBytes<N>& layers) const {
  const LayerRange range =
      chunk_layers(static_cast<std::int64_t>(question_.model.layers.size()), plan, chunk);
  const LayerRange again = recomputed_layers(plan, range);
  Bytes<N> sum{};
  if (again.count() > 0) {
    const std::int64_t group = plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
    const double inputs = d((again.count() + group - 1) / group);
    sum = leaf<N>("inputs kept of a chunk", inputs, model_source_) * layers.inputs;
  }
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const double count = d(kinds_.count(k, again.last, range.last));
    if (count == 0) continue;
    const Bytes<N> part = leaf<N>("layers of a chunk", count, model_source_) * layers.kinds[k].kept;
    sum = value_of(sum) == 0 ? part : sum + part;
  }
  return sum;
}

/// Micro-batches whose activations of one of the rank's chunks are alive; all its chunks together where they
/// are counted as one (`piece` < 0).
template <class N>
Ratio<N> Estimator::chunks_alive(const Plan& plan, int stage, int piece) const {
  const Ratio<N> pieces = degree<N>("model chunks on the rank", plan.interleave);
  Ratio<N> micro_batches = degree<N>("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp), rank = degree<N>("stage", stage);
  switch (plan.schedule) {
    case Schedule::kGpipe:
      return micro_batches;
    case Schedule::kZbH1:
      return call<InFlightZeroBubble>(InFlightZeroBubble::In<N>{stages, micro_batches});
    case Schedule::kZbV:
      return call<InFlightV>(
          InFlightV::In<N>{stages, degree<N>("chunk", rank_chunk(plan, stage, piece)), micro_batches});
    case Schedule::kDualPipe:
      return call<InFlightDualPipe>(
          InFlightDualPipe::In<N>{stages, degree<N>("chunk", rank_chunk(plan, stage, piece)), micro_batches});
    default:
      break;
  }
  // The paper's closed form for interleaving supposes a full pipeline; the op-by-op account counts what there
  // is.
  const bool closed_form =
      question_.activations == ActivationModel::kPaper && plan.grad_accumulation >= plan.pp;
  const Ratio<N> group = degree<N>("micro-batches that take turns", micro_batch_group(plan));
  return closed_form ? call<InFlightFull>(InFlightFull::In<N>{stages, rank, pieces, group})
                     : call<InFlight>(InFlight::In<N>{stages, rank, pieces, group, micro_batches});
}

/// visit(micro-batches, chunk) for the chunks of the rank whose activations are alive.
template <class N, class Visit>
void Estimator::each_live_chunk(const Plan& plan, int stage, const Visit& visit) const {
  if (plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe) {
    for (const int piece : {0, 1}) visit(chunks_alive<N>(plan, stage, piece), rank_chunk(plan, stage, piece));
    return;
  }
  const Ratio<N> chunks = chunks_alive<N>(plan, stage, -1);
  const bool even = kinds_.kinds.size() == 1 &&
                    equal_chunks(static_cast<std::int64_t>(question_.model.layers.size()), plan);
  if (even || plan.interleave == 1) {
    visit(chunks, std::int64_t{stage});
    return;
  }
  // Interleaved and uneven: chunks are alive in schedule order, a group of micro-batches of one chunk after
  // the other.
  double left = value_of(chunks);
  for (std::int64_t i = 0; left > 0; ++i) {
    const double alive = std::min(left, d(micro_batch_group(plan)));
    visit(leaf<N>("micro-batches of the chunk", alive, "schedule"), stage + (i % plan.interleave) * plan.pp);
    left -= alive;
  }
}

template <class N>
Bytes<N> Estimator::live_activations(const Plan& plan, int stage, const LayerBytes<N>& layers) const {
  Bytes<N> sum{};
  bool any = false;
  each_live_chunk<N>(plan, stage, [&](const Ratio<N>& alive, std::int64_t chunk) {
    const Bytes<N> part = alive * chunk_bytes<N>(plan, chunk, layers);
    sum = any ? sum + part : part;
    any = true;
  });
  return sum;
}

void Estimator::live_layers(const Plan& plan, int stage, std::vector<double>& layers) const {
  const auto all = static_cast<std::int64_t>(question_.model.layers.size());
  layers.assign(kinds_.kinds.size(), 0);
  each_live_chunk<double>(plan, stage, [&](const Ratio<>& alive, std::int64_t chunk) {
    const LayerRange range = chunk_layers(all, plan, chunk);
    for (std::size_t k = 0; k < layers.size(); ++k)
      layers[k] += alive.raw() * d(kinds_.count(k, range.first, range.last));
  });
}

#define SHARDPLAN_INSTANTIATE(N)                                                                            \
  template Ratio<N> Estimator::micro_batch_tokens<N>(const Plan&) const;                                    \
  template Ratio<N> Estimator::routed_tokens<N>(const Plan&) const;                                         \
  template Ratio<N> Estimator::expert_rows_of_token<N>(const LayerOps&) const;                              \
  template Ratio<N> Estimator::chunks_alive<N>(const Plan&, int, int) const;                                \
  template Bytes<N> Estimator::layer_activations<N>(const Plan&, std::size_t, ActivationModel) const;       \
  template Bytes<N> Estimator::norm_activations<N>(const Plan&, Norm) const;                                \
  template Bytes<N> Estimator::layer_inputs<N>(const Plan&) const;                                          \
  template Bytes<N> Estimator::chunk_bytes<N>(const Plan&, std::int64_t, const LayerBytes<N>&) const;       \
  template Bytes<N> Estimator::live_activations<N>(const Plan&, int, const LayerBytes<N>&) const;           \
  template void Estimator::add_state<N>(const Plan&, int, MemoryBreakdown<N>&) const;                       \
  template void Estimator::add_state<N>(const Plan&, const Ratio<N>&, const Ratio<N>&, MemoryBreakdown<N>&) \
      const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
