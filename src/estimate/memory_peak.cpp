// The memory peak of a pipeline stage: what is alive beyond its state and its kept activations.
#include "cost/memory_peak.h"

#include <algorithm>

#include "cost/activations_paper.h"
#include "cost/framework_buffers.h"
#include "cost/memory_counters.h"
#include "cost/multi_token.h"
#include "cost/pipeline.h"
#include "cost/state.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

/// The larger of two, of which the first may not be there yet.
template <class N>
Bytes<N> larger(const Bytes<N>& so_far, const Bytes<N>& next) {
  return value_of(so_far) == 0 ? next : max(so_far, next);
}

}  // namespace

double Estimator::attended_keys(const Plan& plan, const LayerOps& ops) const {
  const double sequence = d(question_.workload.sequence) / plan.cp;
  return ops.attended > 0 && ops.attended < sequence ? ops.attended : sequence;
}

template <class N>
Bytes<N> Estimator::layer_backward(const Plan& plan, const LayerOps& ops) const {
  const auto count = [&](const char* what, double value) { return leaf<N>(what, value, model_source_); };
  const Ratio<N> t = micro_batch_tokens<N>(plan), hidden = count("hidden size", d(question_.model.hidden));
  const Ratio<N> tensor = degree<N>("tensor-parallel degree", plan.tp), shared = sequence_share<N>(plan);
  const Ratio<N> matrices = count("matrices before the activation", ops.mlp_matrices);
  const double dense = ops.experts > 0 ? ops.shared_width : ops.mlp_width;
  Bytes<N> most = call<LayerBackwardTransient>(LayerBackwardTransient::In<N>{
      t, hidden, count("MLP width", dense), matrices,
      leaf<N>("inputs gathered again", plan.sequence_parallel ? 1 : 0, "plan"), tensor, shared});
  if (ops.experts > 0) {
    const Ratio<N> rows =
        routed_tokens<N>(plan) * expert_rows_of_token<N>(ops) * degree<N>("expert-tensor degree", plan.etp);
    most = max(most,
               call<MoeBackwardTransient>(MoeBackwardTransient::In<N>{
                   t, hidden, named("expert rows on the rank", rows), count("expert width", ops.expert_width),
                   matrices, degree<N>("expert-tensor degree", plan.etp), shared}));
  }
  if (ops.has_attention_core && !question_.workload.kernels.fused_attention) {
    most = max(most, call<ScoresBackwardTransient>(ScoresBackwardTransient::In<N>{
                         t, count("scores a token", ops.heads * attended_keys(plan, ops)), tensor}));
  }
  return most;
}

template <class N>
Bytes<N> Estimator::gathered_layer(const Plan& plan, const LayerOps& ops) const {
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const double parameters = ops.tensor_parameters / plan.tp + ops.replicated_parameters +
                            ops.expert_parameters / (d(plan.ep) * plan.etp);
  return call<GatheredLayers>(GatheredLayers::In<N>{
      leaf<N>("parameters of a layer", parameters, model_source_),
      frozen() ? base_width<N>()
               : leaf<N>("gathered weight bytes", gathered_weight().value, gathered_weight().source),
      frozen() ? leaf<N>("gradient bytes", bytes(0), "frozen")
               : leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source)});
}

template <class N>
Bytes<N> Estimator::gathered_root(const Plan& plan, int stage) const {
  const bool last = holds_last_chunk(plan, stage);
  const double head = last ? table_parameters(plan) / plan.tp : 0;
  const bool own = holds_first_chunk(plan, stage) && !(last && question_.model.tied_embeddings);
  const double embedding = own ? table_parameters(plan) / plan.tp : 0;
  return call<GatheredRoot>(GatheredRoot::In<N>{
      leaf<N>("parameters of the tables", head + embedding, model_source_),
      frozen() ? leaf<N>("parameters of the head", 0, "frozen")
               : leaf<N>("parameters of the head", head, model_source_),
      leaf<N>("gathered weight bytes", gathered_weight().value, gathered_weight().source)});
}

const Sourced<Bytes<>>& Estimator::logit_bytes(const Plan& plan) const {
  const Framework::Buffers& buffers = question_.framework.buffers;
  // Split logits go through the framework's own handlers, compiled or not.
  if (plan.tp > 1 && buffers.split_logit) return *buffers.split_logit;
  const bool compiled = question_.workload.kernels.compiled_loss && buffers.compiled_logit;
  return compiled ? *buffers.compiled_logit : buffers.logit;
}

/// Logits, their loss and the final norm, alive together on the last stage.
template <class N>
Bytes<N> Estimator::loss_bytes(const Plan& plan) const {
  const auto& logit = logit_bytes(plan);
  const Bytes<N> logits = call<Logits>(Logits::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("vocabulary", vocabulary(plan), model_source_),
      degree<N>("tensor-parallel degree", plan.tp), leaf<N>("bytes a logit", logit.value, logit.source)});
  return question_.activations == ActivationModel::kOps ? logits + norm_activations<N>(plan, Norm::kFinal)
                                                        : logits;
}

template <class N>
Bytes<N> Estimator::recomputed_bytes(const Plan& plan, std::size_t kind, const Bytes<N>& kept) const {
  Plan whole = plan;
  if (plan.recompute.whole_layers()) {
    whole.recompute = Recompute::kNone;
    const Bytes<N> layer = layer_activations<N>(whole, kind, question_.activations);
    const Ratio<N> group =
        degree<N>("layers recomputed at once",
                  plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1);
    // The first one's input is the one that was kept.
    return named("layers that are recomputed", group * layer - layer_inputs<N>(plan));
  }
  if (keeps_selective_products(plan)) {
    whole.recompute = Recompute::kNone;
    return named("products that are recomputed",
                 layer_activations<N>(whole, kind, question_.activations) - kept);
  }
  // Scores that come back are counted where attention runs backward.
  whole.recompute.modules &= static_cast<std::uint8_t>(Module::kCoreAttention);
  return named("modules that are recomputed",
               layer_activations<N>(whole, kind, question_.activations) - kept);
}

bool Estimator::brings_modules_back(const Plan& plan) const {
  return keeps_selective_products(plan) ||
         (plan.recompute.kind == Recompute::Kind::kModules &&
          plan.recompute.modules != static_cast<std::uint8_t>(Module::kCoreAttention));
}

bool Estimator::gathers_layers(const Plan& plan) const {
  if (plan.offloads(Offload::kParameters)) return true;
  return question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].weights &&
         dense_shards(plan) > 1 && !(question_.framework.pipeline_keeps_gathered && plan.pp > 1);
}

template <class N>
void Estimator::fill_layer_bytes(const Plan& plan, LayerBytes<N>& bytes_of) const {
  const bool ops = question_.activations == ActivationModel::kOps;
  bytes_of.kinds.clear();
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    typename LayerBytes<N>::Kind kind;
    kind.kept = layer_activations<N>(plan, k, question_.activations);
    if (ops) {
      kind.backward = layer_backward<N>(plan, kinds_.kinds[k]);
      if (question_.workload.adapters.base) kind.backward += widened_weight<N>(plan, kinds_.kinds[k]);
      if (plan.recompute.whole_layers() || brings_modules_back(plan))
        kind.again = recomputed_bytes<N>(plan, k, kind.kept);
    }
    bytes_of.kinds.push_back(kind);
  }
  bytes_of.inputs = layer_inputs<N>(plan);
  if (question_.model.vocab > 0) bytes_of.loss = loss_bytes<N>(plan);
  if (!ops) return;
  bytes_of.buffers = micro_batch_buffers<N>(plan);
  if (!has_table_) return;
  const Ratio<N> t = micro_batch_tokens<N>(plan),
                 hidden = leaf<N>("hidden size", d(question_.model.hidden), model_source_),
                 tensor = degree<N>("tensor-parallel degree", plan.tp),
                 rows = leaf<N>("vocabulary", vocabulary(plan), model_source_);
  const bool apart = !question_.workload.kernels.fused_weight_gradient && !frozen();
  bytes_of.head = call<HeadBackwardTransient>(HeadBackwardTransient::In<N>{
      t, hidden, rows, leaf<N>("weight gradients held apart", apart ? 1 : 0, "kernels"), tensor});
  if (!frozen()) {
    bytes_of.table =
        call<EmbeddingBackwardTransient>(EmbeddingBackwardTransient::In<N>{t, hidden, rows, tensor});
  }
}

/// What the largest moment of the backward pass adds to the loss.
template <class N>
Bytes<N> Estimator::backward_transient(const Plan& plan, int stage, const LayerBytes<N>& layers) const {
  const std::int64_t all = static_cast<std::int64_t>(question_.model.layers.size());
  const bool modules = brings_modules_back(plan);
  Bytes<N> backward{};
  // An interleaved rank's chunks are of the same layers, as far as the account knows; the two of a V are not.
  const int pieces = plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe ? 2 : 1;
  for (int piece = 0; piece < pieces; ++piece) {
    const LayerRange range = chunk_layers(all, plan, rank_chunk(plan, stage, piece));
    // Layers that are kept run backward first, and are gone before the ones below them are recomputed.
    const bool recomputes =
        plan.recompute.whole_layers() && recomputed_layers(plan, range).last == range.last;
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      if (kinds_.count(k, range.first, range.last) == 0) continue;
      const auto& kind = layers.kinds[k];
      backward = larger(backward, recomputes || modules ? kind.backward + kind.again : kind.backward);
    }
  }
  const bool last = holds_last_chunk(plan, stage);
  if (has_table_ && last) backward = max(backward, layers.head);
  if (has_table_ && holds_first_chunk(plan, stage) && !frozen()) {
    // By then the first chunk's own activations are gone.
    backward = max(backward, layers.table - chunk_bytes<N>(plan, 0, layers));
  }
  if (!last || question_.model.vocab == 0) return backward;
  // The loss is over before the top layer runs backward: the larger of the two is the peak.
  return max(backward - layers.loss, Bytes<N>(N(0.0)));
}

/// The layer and the tables that full sharding has gathered; nothing where it gathers none.
template <class N>
Bytes<N> Estimator::gathered_weights(const Plan& plan, int stage) const {
  const std::int64_t all = static_cast<std::int64_t>(question_.model.layers.size());
  const int pieces = plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe ? 2 : 1;
  Bytes<N> gathered{};
  for (int piece = 0; piece < pieces; ++piece) {
    const LayerRange range = chunk_layers(all, plan, rank_chunk(plan, stage, piece));
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      if (kinds_.count(k, range.first, range.last) > 0)
        gathered = larger(gathered, gathered_layer<N>(plan, kinds_.kinds[k]));
    }
  }
  return gathered + gathered_root<N>(plan, stage);
}

/// Outputs and masks at the ends of a stage, for all its micro-batches in flight.
template <class N>
Bytes<N> Estimator::stage_edges(const Plan& plan, int stage) const {
  const auto& outputs = question_.framework.buffers.stage_outputs;
  const bool sends = plan.pp > 1 && !holds_last_chunk(plan, stage) && outputs.value > ratio(0);
  const bool masks =
      holds_first_chunk(plan, stage) && has_table_ && question_.workload.kernels.hidden_dropout;
  if (!sends && !masks) return Bytes<N>(N(0.0));
  const Ratio<N> micro_batches = call<InFlight>(InFlight::In<N>{
      degree<N>("pipeline stages", plan.pp), degree<N>("stage", stage),
      degree<N>("model chunks on the rank", 1), degree<N>("micro-batches that take turns", plan.pp),
      degree<N>("micro-batches", plan.grad_accumulation)});
  return micro_batches *
         call<StageEdgeActivations>(StageEdgeActivations::In<N>{
             micro_batch_tokens<N>(plan), leaf<N>("hidden size", d(question_.model.hidden), model_source_),
             sends ? leaf<N>("outputs kept", outputs.value, outputs.source)
                   : leaf<N>("outputs kept", ratio(0), "no stage follows"),
             leaf<N>("dropout masks of the embedding", masks ? 1 : 0, "workload"), sequence_share<N>(plan)});
}

template <class N>
Bytes<N> Estimator::step_transient(const Plan& plan, int stage) const {
  const Framework::Buffers& buffers = question_.framework.buffers;
  if (buffers.step.value == bytes(0) || plan.offloads(Offload::kOptimizer)) return Bytes<N>(N(0.0));
  const auto& extra = question_.framework.extra_gradient;
  // Where whole fp32 gradients are kept, the optimizer reads its shard of them in place; they are reduced in
  // fp32 too.
  const bool in_place = extra && keeps_extra_gradient(*extra, plan);
  const bool sharded = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].optimizer;
  double expert = 0;
  const double dense = trained_parameters(plan, stage, expert);
  const Bytes<N> shard = call<StateTerm>(
      StateTerm::In<N>{in_place ? leaf<N>("nothing copied", bytes(0), extra->bytes.source)
                                : leaf<N>("bytes copied", buffers.step.value, buffers.step.source),
                       leaf<N>("dense parameters on the rank", dense, model_source_),
                       degree<N>("dense shards", sharded ? dense_shards(plan) : 1),
                       leaf<N>("expert parameters on the rank", expert, model_source_),
                       degree<N>("expert shards", sharded ? expert_shards(plan) : 1)});
  const Bytes<> bucket = in_place ? 2.0 * buffers.reduce_bucket.value : buffers.reduce_bucket.value;
  return call<OptimizerStepTransient>(OptimizerStepTransient::In<N>{
      shard, leaf<N>("reduction bucket", bucket, buffers.reduce_bucket.source)});
}

double Estimator::distinct_weight_elements(const Plan& plan, int stage) const {
  struct Shape {
    double in, out;
  };
  std::array<Shape, kWeightShapesMax> seen{};
  std::size_t count = 0;
  double elements = 0;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const LayerRange range = chunk_layers(static_cast<std::int64_t>(question_.model.layers.size()), plan,
                                          rank_chunk(plan, stage, i));
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      if (kinds_.count(k, range.first, range.last) == 0) continue;
      for (const Gemm& g : kinds_.kinds[k].gemms) {
        if (g.router) continue;
        const bool expert = g.cut == GemmCut::kExpertColumn || g.cut == GemmCut::kExpertRow;
        const double split = g.cut == GemmCut::kWhole ? 1 : (expert ? plan.etp : plan.tp);
        const bool column = g.cut == GemmCut::kColumn || g.cut == GemmCut::kExpertColumn;
        const Shape shape{column ? g.in : g.in / split, column ? g.out / split : g.out};
        const Shape* end = seen.data() + count;
        const Shape* at = std::find_if(static_cast<const Shape*>(seen.data()), end, [&](const Shape& s) {
          return s.in == shape.in && s.out == shape.out;
        });
        if (at != end || count == seen.size()) continue;
        seen[count++] = shape;
        elements += shape.in * shape.out;
      }
    }
  }
  return elements;
}

double Estimator::linear_parameters(const Plan& plan, int stage) const {
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  double sum = 0;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const LayerRange range = chunk_layers(layers, plan, rank_chunk(plan, stage, i));
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      const LayerOps& ops = kinds_.kinds[k];
      sum += d(kinds_.count(k, range.first, range.last)) *
             (ops.tensor_parameters / plan.tp + ops.expert_parameters / (d(plan.ep) * plan.etp));
    }
  }
  return sum;
}

template <class N>
Bytes<N> Estimator::pipeline_buffers(const Plan& plan, int stage) const {
  const bool first = holds_first_chunk(plan, stage), last = holds_last_chunk(plan, stage);
  const double chunks = chunks_of_rank(plan);
  // The two chunks of a V have their own counts in flight; here each is taken to have half of their sum.
  Ratio<N> alive = chunks_alive<N>(plan, stage, plan.interleave == chunks ? -1 : 0);
  if (plan.interleave != chunks) alive += chunks_alive<N>(plan, stage, 1);
  return call<PipelineBuffers>(PipelineBuffers::In<N>{
      micro_batch_tokens<N>(plan), leaf<N>("hidden size", d(question_.model.hidden), model_source_),
      leaf<N>("vocabulary", has_table_ ? vocabulary(plan) : 0, model_source_),
      degree<N>("micro-batches", plan.grad_accumulation),
      named("in flight in a chunk", alive / leaf<N>("chunks of the rank", chunks, "plan")),
      leaf<N>("chunks that receive", first ? chunks - 1 : chunks, "plan"),
      leaf<N>("chunks that send", last ? chunks - 1 : chunks, "plan"),
      leaf<N>("chunks with the head", last ? 1 : 0, "plan"), degree<N>("tensor-parallel degree", plan.tp),
      sequence_share<N>(plan)});
}

/// Buffers that the framework and its libraries keep for good.
template <class N>
Bytes<N> Estimator::stage_buffers(const Plan& plan, int stage) const {
  const Framework::Buffers& buffers = question_.framework.buffers;
  const Device& device = question_.cluster.device;
  const auto& workspaces = device.before_hopper() ? buffers.before_hopper : buffers.since_hopper;
  Bytes<N> sum = leaf<N>("matrix library workspaces", workspaces.library.value, workspaces.library.source);
  const Bytes<N> engine = leaf<N>("framework workspace", workspaces.engine.value, workspaces.engine.source);
  sum += kinds_.has_experts
             ? engine * (leaf<N>("further workspaces for grouped products", buffers.grouped_workspaces.value,
                                 buffers.grouped_workspaces.source) +
                         Ratio<N>(N(1.0)))
             : engine;
  const auto& placeholders = buffers.placeholder_gradients;
  if (placeholders.value > ratio(0) && question_.workload.kernels.fused_weight_gradient && !frozen()) {
    sum += call<PlaceholderGradients>(PlaceholderGradients::In<N>{
        leaf<N>("elements of distinct weight shapes", distinct_weight_elements(plan, stage), model_source_),
        leaf<N>("placeholders for each", placeholders.value, placeholders.source)});
  }
  const auto& copies = quantized().weight_copies;
  if (copies.value > bytes(0)) {
    sum += call<QuantizedWeights>(QuantizedWeights::In<N>{
        leaf<N>("parameters of linear layers", linear_parameters(plan, stage), model_source_),
        leaf<N>("bytes of the copies", copies.value, copies.source)});
  }
  return sum;
}

/// Buffers of one micro-batch, on every stage.
template <class N>
Bytes<N> Estimator::micro_batch_buffers(const Plan& plan) const {
  Bytes<N> batch = call<BatchBuffers>(BatchBuffers::In<N>{
      leaf<N>("sequence", d(question_.workload.sequence), "workload"),
      degree<N>("micro-batch", plan.micro_batch),
      leaf<N>("attention masks", question_.workload.kernels.attention_mask ? 1 : 0, "workload")});
  const auto& gather = question_.framework.buffers.sequence_gather;
  if (gather.value <= ratio(0) || !plan.sequence_parallel) return batch;
  return batch +
         call<SequenceGatherBuffer>(SequenceGatherBuffer::In<N>{
             micro_batch_tokens<N>(plan), leaf<N>("hidden size", d(question_.model.hidden), model_source_),
             leaf<N>("gather buffers", gather.value, gather.source)});
}

template <class N>
void Estimator::add_head_extras(const Plan& plan, const LayerBytes<N>& layer, StageBytes<N>& stage) const {
  const Training& workload = question_.workload;
  const std::int64_t deferred =
      std::min<std::int64_t>(workload.kernels.deferred_head_gradients, plan.grad_accumulation);
  const Ratio<N> t = micro_batch_tokens<N>(plan),
                 hidden = leaf<N>("hidden size", d(question_.model.hidden), model_source_),
                 rows = leaf<N>("vocabulary", vocabulary(plan), model_source_),
                 tensor = degree<N>("tensor-parallel degree", plan.tp), shared = sequence_share<N>(plan);
  if (workload.mtp_layers > 0) {
    const Ratio<N> layers = leaf<N>("prediction layers", d(workload.mtp_layers), "workload");
    stage.activations +=
        layers * layer.kinds[last_kind()].kept +
        call<PredictionInputActivations>(PredictionInputActivations::In<N>{t, hidden, layers, shared});
    stage.logits += call<PredictionLogits>(PredictionLogits::In<N>{t, rows, layers, tensor});
  }
  if (deferred > 0) {
    stage.deferred = call<DeferredHeadGradients>(DeferredHeadGradients::In<N>{
        t, hidden, rows, leaf<N>("micro-batches that wait", d(deferred), "kernels"), tensor, shared});
  }
}

template <class N>
Estimator::StageBytes<N> Estimator::stage_bytes(const Plan& plan, int stage,
                                                const LayerBytes<N>& layers) const {
  StageBytes<N> own;
  const bool ops = question_.activations == ActivationModel::kOps, last = holds_last_chunk(plan, stage);
  own.activations = live_activations<N>(plan, stage, layers);
  if (last && question_.model.vocab > 0) own.logits = layers.loss;
  // The closed forms of the paper know no working buffers.
  if (!ops) return own;
  own.activations += stage_edges<N>(plan, stage);
  if (last && has_table_) add_head_extras<N>(plan, layers, own);
  own.backward = backward_transient<N>(plan, stage, layers);
  own.buffers = layers.buffers;
  if (question_.framework.buffers.received.value > ratio(0) && plan.pp > 1)
    own.buffers += pipeline_buffers<N>(plan, stage);
  return own;
}

template <class N>
Estimator::StageState<N> Estimator::stage_state(const Plan& plan, int stage) const {
  StageState<N> own;
  add_state<N>(plan, stage, own.state);
  if (question_.activations != ActivationModel::kOps) return own;
  if (gathers_layers(plan)) own.gathered = gathered_weights<N>(plan, stage);
  own.step = step_transient<N>(plan, stage);
  own.buffers = stage_buffers<N>(plan, stage);
  if (question_.workload.unsharded_start) own.start = unsharded_start<N>(plan, stage);
  return own;
}

template <class N>
MemoryBreakdown<N> Estimator::kept_memory(const StageBytes<N>& work, const StageState<N>& state) {
  MemoryBreakdown<N> memory = state.state;
  memory[MemoryTerm::kActivations] = work.activations;
  memory[MemoryTerm::kLogits] = work.logits;
  memory[MemoryTerm::kTransient] = work.deferred;
  return memory;
}

template <class N>
MemoryBreakdown<N> Estimator::stage_memory(const Plan& plan, int stage, const LayerBytes<N>& layers,
                                           const StageBytes<N>& work, const StageState<N>& state) const {
  MemoryBreakdown<N> memory = kept_memory<N>(work, state);
  if (plan.offload != 0) offload<N>(plan, stage, layers, memory);
  if (question_.activations != ActivationModel::kOps) return memory;
  const Bytes<N> backward = gathers_layers(plan) ? work.backward + state.gathered : work.backward;
  // The optimizer steps when activations and logits are gone.
  const Bytes<N> step = state.step - memory[MemoryTerm::kActivations] - memory[MemoryTerm::kLogits];
  Bytes<N>& transient = memory[MemoryTerm::kTransient];
  transient = value_of(transient) > 0 ? transient + max(backward, step) : max(backward, step);
  memory[MemoryTerm::kBuffers] = state.buffers + work.buffers;
  if (question_.workload.unsharded_start) {
    // Where the start is the peak, what it holds beyond the rest is transient.
    transient = max(transient, state.start - (memory.total() - transient));
  }
  return memory;
}

template <class N>
MemoryBreakdown<N> Estimator::stage_memory(const Plan& plan, int stage) const {
  LayerBytes<N> layers;
  fill_layer_bytes<N>(plan, layers);
  return stage_memory<N>(plan, stage, layers, stage_bytes<N>(plan, stage, layers),
                         stage_state<N>(plan, stage));
}

template <class N>
MemoryBreakdown<N> Estimator::fullest_memory(const Plan& plan, int& stage) const {
  LayerBytes<N> layers;
  fill_layer_bytes<N>(plan, layers);
  MemoryBreakdown<N> fullest;
  stage = -1;
  for (const int s : pipeline_shape(kinds_, plan).stages) {
    const MemoryBreakdown<N> memory =
        stage_memory<N>(plan, s, layers, stage_bytes<N>(plan, s, layers), stage_state<N>(plan, s));
    if (stage >= 0 && !(fullest.total() < memory.total())) continue;
    fullest = memory;
    stage = s;
  }
  return fullest;
}

template <class N>
Bytes<N> Estimator::unsharded_start(const Plan& plan, int stage) const {
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  double expert = 0;
  const double dense = stage_parameters(plan, stage, expert);
  return call<UnshardedStart>(UnshardedStart::In<N>{
      leaf<N>("parameters of the rank, unsharded", dense + expert, model_source_),
      frozen() ? base_width<N>() : leaf<N>("weight bytes", kept.weight.value, kept.weight.source)});
}

template <class N>
MemoryPeaks<N> Estimator::memory_peaks(const Plan& plan, int stage, const MemoryBreakdown<N>& memory) const {
  const Framework::Allocator& allocator = question_.framework.allocator;
  const auto& hbm = question_.cluster.device.memory_reported;
  const Bytes<N> context = leaf<N>("device context", allocator.context.value, allocator.context.source);
  const Bytes<N> communicators = plan.gpus() > 1 ? leaf<N>("communicators", allocator.communication.value,
                                                           allocator.communication.source)
                                                 : leaf<N>("one rank", bytes(0), "plan");
  const auto& slack = question_.workload.expandable_segments ? allocator.expandable_slack : allocator.slack;
  MemoryPeaks<N> peaks;
  peaks.allocated = memory.total();
  peaks.reserved = call<ReservedPeak>(ReservedPeak::In<N>{
      peaks.allocated, leaf<N>("slack", slack.value, slack.source), step_transient<N>(plan, stage),
      leaf<N>("HBM", hbm.value, hbm.source) - context - communicators});
  peaks.driver = call<DriverPeak>(DriverPeak::In<N>{peaks.reserved, context, communicators});
  return peaks;
}

#define SHARDPLAN_INSTANTIATE(N)                                                                             \
  template MemoryPeaks<N> Estimator::memory_peaks<N>(const Plan&, int, const MemoryBreakdown<N>&) const;     \
  template MemoryBreakdown<N> Estimator::stage_memory<N>(const Plan&, int) const;                            \
  template MemoryBreakdown<N> Estimator::fullest_memory<N>(const Plan&, int&) const;                         \
  template Bytes<N> Estimator::stage_buffers<N>(const Plan&, int) const;                                     \
  template void Estimator::fill_layer_bytes<N>(const Plan&, LayerBytes<N>&) const;                           \
  template Estimator::StageBytes<N> Estimator::stage_bytes<N>(const Plan&, int, const LayerBytes<N>&) const; \
  template Estimator::StageState<N> Estimator::stage_state<N>(const Plan&, int) const;                       \
  template MemoryBreakdown<N> Estimator::kept_memory<N>(const StageBytes<N>&, const StageState<N>&);         \
  template MemoryBreakdown<N> Estimator::stage_memory<N>(const Plan&, int, const LayerBytes<N>&,             \
                                                         const StageBytes<N>&, const StageState<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
