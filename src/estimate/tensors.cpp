// One entry for each tensor that the formulas of the memory account add up (cost/activations_ops.h,
// cost/activations_paper.h, cost/memory_peak.h, cost/framework_buffers.h), in their order.
#include "estimate/tensors.h"

#include <algorithm>
#include <cmath>

#include "cost/activations_ops.h"
#include "estimate/estimator.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

}  // namespace

struct Estimator::StageTensors {
  const Estimator& e;
  const Plan& plan;
  const int stage;
  // The paper's closed forms know stored scores and dropout only.
  const bool paper = e.question_.activations == ActivationModel::kPaper;
  const Kernels& kernels = e.question_.workload.kernels;
  const bool fused = kernels.fused_attention && !paper;
  const bool masks = kernels.hidden_dropout || paper;
  const Ratio<> tokens = e.micro_batch_tokens<double>(plan);
  const double hidden = d(e.question_.model.hidden), tensor = plan.tp;
  const double shared = plan.sequence_parallel ? plan.tp : 1;
  std::vector<Tensor> list{};

  /// Elements a token, over the degree that divides them.
  Bytes<> of(double width, double split, Bytes<> element = kept::kActivation) const {
    return tokens * ratio(width) * element / ratio(split);
  }

  void add(const char* name, Bytes<> bytes_each, double alive, MemoryTerm term = MemoryTerm::kActivations) {
    if (!(bytes_each > bytes(0))) return;
    for (Tensor& t : list) {
      if (t.name != name || !(t.bytes == bytes_each) || t.term != term) continue;
      t.alive += alive;
      return;
    }
    list.push_back({name, bytes_each, alive, term});
  }

  void add_norm(double alive, Norm norm, MemoryTerm term = MemoryTerm::kActivations) {
    const bool in_layer = norm != Norm::kFinal;
    const bool read = in_layer
                          ? e.keeps_input(norm == Norm::kMixer ? targets::kProjections : targets::kMlpInputs)
                          : !e.frozen();
    const bool gathered = e.question_.framework.buffers.gathered_column_inputs.value > ratio(0);
    const bool again = in_layer && plan.recompute.has(Module::kLayerNorm);
    add("residual stream", of(hidden, shared), alive, term);
    add("norm output", of(hidden, gathered && !paper ? 1 : shared), again || !read ? 0 : alive, term);
    if (in_layer && masks) add("dropout mask", of(hidden, shared, kept::kMask), alive, term);
  }

  void add_scores(const LayerOps& ops, double alive) {
    if (fused) return;
    const double keys = paper ? d(e.question_.workload.sequence) : e.attended_keys(plan, ops);
    const bool dropped = kernels.attention_dropout || paper;
    const double stored = plan.recompute.has(Module::kCoreAttention) ? 0 : alive;
    add("attention scores", of(ops.heads * keys, tensor), dropped ? 2 * stored : stored);
    if (dropped) add("dropout mask of the scores", of(ops.heads * keys, tensor, kept::kMask), stored);
    add("attention scores in fp32", of(ops.heads * keys, tensor, kept::kStatistic), 0);
  }

  void add_attention(const LayerOps& ops, double alive) {
    const bool projected_again = ops.latent_attention && plan.recompute.has(Module::kMlaUpProjection);
    const double projected = projected_again ? 0 : alive;
    for (const Gemm& gemm : ops.gemms) {
      if (gemm.name == std::string_view("qkv")) add("qkv projection output", of(gemm.out, tensor), 0);
    }
    const double key = ops.latent_attention ? ops.heads * ops.qk_dim : ops.kv_width / 2;
    add("query", of(ops.query_width, tensor), projected);
    add("key", of(key, tensor), projected);
    add("value", of(ops.kv_width - key, tensor), projected);
    add("inner tensors of the mixer", of(ops.mixer_extra_width, tensor), alive);
    add("attention output", of(ops.value_width, tensor), fused && plan.cp > 1 ? 2 * alive : alive);
    if (fused) {
      const double kept_here = plan.recompute.has(Module::kCoreAttention) ? 0 : alive;
      add("attention statistics", of(ops.heads, tensor, kept::kStatistic), kept_here);
    }
    add_scores(ops, alive);
    if (ops.qk_norm)
      add("query and key before their norms", of(ops.query_width + ops.kv_width / 2, tensor), alive);
    add("low-rank latents", of(ops.latent_width, shared), alive);
  }

  void add_mlp(const LayerOps& ops, double alive) {
    const bool moe = ops.experts > 0;
    const Recompute& r = plan.recompute;
    const bool again = moe ? r.has(Module::kMoe) || r.has(Module::kSharedExperts) : r.has(Module::kMlp);
    const double width = moe ? ops.shared_width : ops.mlp_width, stored = again ? 0 : alive;
    const double copies = ops.mlp_matrices > 1 ? e.question_.framework.buffers.gated_copies.value.raw() : 0;
    add("MLP first projection output", of(ops.mlp_matrices * width, tensor), stored);
    const double read = e.keeps_input(targets::kDownward) ? 1 : 0;
    add("MLP activation output", of(width, tensor), (read + copies) * stored);
    if (moe) add_experts(ops, r.has(Module::kMoe) ? 0 : alive);
  }

  void add_experts(const LayerOps& ops, double alive) {
    const Ratio<> routed = e.routed_tokens<double>(plan);
    const Ratio<> rows = routed * e.expert_rows_of_token<double>(ops) * ratio(plan.etp),
                  experts = routed * ratio(ops.experts);
    const bool act_again = plan.recompute.has(Module::kMoeActivation);
    add("router scores", experts * kept::kStatistic, 2 * alive);
    add("router mask", experts * kept::kMask, alive);
    add("permuted tokens", rows * ratio(hidden) * kept::kActivation,
        e.keeps_input(targets::kMlpInputs) ? alive : 0);
    add("permutation map", experts * kept::kRowMap, alive);
    add("routed rows' bookkeeping", rows * kept::kRouteEntry, alive);
    const Bytes<> inner = rows * ratio(ops.expert_width) * kept::kActivation / ratio(plan.etp);
    add("expert first projection output", ops.mlp_matrices * inner, alive);
    const double weighted = act_again || !e.keeps_input(targets::kDownward) ? 0 : 1,
                 unweighted = kernels.fused_expert_activation || act_again ? 0 : 1;
    add("expert activation output", inner, (weighted + unweighted) * alive);
    if (kernels.gathers_expert_tokens) {
      const double ranks = d(std::int64_t{plan.ep} * plan.etp);
      add("tokens gathered for the experts", ranks * (routed * ratio(hidden) * kept::kActivation), alive);
    }
  }

  void add_layer(const LayerOps& ops, double alive) {
    if (e.keeps_selective_products(plan)) {
      add("residual stream", of(hidden, shared), alive);
      add("attention output", of(ops.value_width, tensor), alive);
      add("attention statistics", of(ops.heads, tensor, kept::kStatistic), alive);
      add("query", of(ops.query_width, tensor), alive);
      add("value", of(ops.kv_width / 2, tensor), alive);
      add("gate projection output", of(ops.mlp_width, tensor), alive);
      add("MLP output before its reduction", of(hidden, 1), alive);
      return;
    }
    add_norm(alive, Norm::kMixer);
    if (e.frozen()) {
      add("inner outputs of the adapters", e.adapter_activations<double>(plan, ops), alive);
    }
    if (ops.has_attention_core) {
      add_attention(ops, alive);
    } else {
      add("mixer output", of(ops.value_width, tensor), alive);
      add("inner tensors of the mixer", of(ops.mixer_extra_width, tensor), alive);
    }
    if (ops.mlp_matrices <= 0) return;
    add_norm(alive, Norm::kMlp);
    add_mlp(ops, alive);
  }

  /// `micro_batches` of one chunk.
  void add_chunk(std::int64_t chunk, double micro_batches) {
    const auto layers = static_cast<std::int64_t>(e.question_.model.layers.size());
    const LayerRange range = chunk_layers(layers, plan, chunk), again = recomputed_layers(plan, range);
    if (again.count() > 0) {
      const bool uniform = plan.recompute.kind == Recompute::Kind::kUniform;
      const std::int64_t group = uniform ? plan.recompute.layers : 1;
      add("residual stream", of(hidden, shared), micro_batches * d((again.count() + group - 1) / group));
    }
    for (std::size_t k = 0; k < e.kinds_.kinds.size(); ++k) {
      if (e.kinds_.count(k, range.first, range.last) == 0) continue;
      add_layer(e.kinds_.kinds[k], micro_batches * d(e.kinds_.count(k, again.last, range.last)));
    }
  }

  /// As Estimator::live_activations deals them.
  void add_chunks() {
    if (plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe) {
      for (int piece = 0; piece < 2; ++piece) {
        add_chunk(rank_chunk(plan, stage, piece), e.chunks_alive<double>(plan, stage, piece).raw());
      }
      return;
    }
    double left = e.chunks_alive<double>(plan, stage, -1).raw();
    for (std::int64_t i = 0; left > 0; ++i) {
      const double alive = plan.interleave == 1 ? left : std::min(left, d(micro_batch_group(plan)));
      add_chunk(stage + (i % plan.interleave) * plan.pp, alive);
      left -= alive;
    }
  }

  void add_head_extras() {
    const Training& workload = e.question_.workload;
    const double layers = d(workload.mtp_layers), rows = e.vocabulary(plan);
    const double deferred = std::min(d(kernels.deferred_head_gradients), d(plan.grad_accumulation));
    if (layers > 0) {
      if (plan.recompute.kind == Recompute::Kind::kUniform) {
        add("residual stream", of(hidden, shared), layers);
      } else {
        add_layer(e.kinds_.kinds[e.last_kind()], layers);
      }
      add("residual stream", of(hidden, shared), 2 * layers);
      add("norm output", of(hidden, shared), 2 * layers);
      add("logits in fp32", of(rows, tensor, kept::kStatistic), layers, MemoryTerm::kLogits);
    }
    add("logit gradients that wait", of(rows, tensor), deferred, MemoryTerm::kTransient);
    add("head inputs that wait", of(hidden, shared), deferred, MemoryTerm::kTransient);
  }

  /// Of every activation, so much is on the device; the rest waits in the host's memory.
  void keep_share(Ratio<> share) {
    for (Tensor& t : list) {
      if (t.term == MemoryTerm::kActivations) t.alive *= share.raw();
    }
  }

  void add_edges() {
    const double outputs = e.question_.framework.buffers.stage_outputs.value.raw();
    const double micro_batches = std::min(d(plan.pp) - stage, d(plan.grad_accumulation));
    if (plan.pp > 1 && !holds_last_chunk(plan, stage) && outputs > 0)
      add("stage output", of(hidden, shared), outputs * micro_batches);
    if (holds_first_chunk(plan, stage) && e.has_table_ && kernels.hidden_dropout)
      add("dropout mask", of(hidden, shared, kept::kMask), micro_batches);
  }

  void add_loss() {
    const double vocabulary = e.vocabulary(plan);
    const double logit = e.logit_bytes(plan).value.raw();
    const double fp32 = std::floor(logit / kept::kStatistic.raw());
    const double half = (logit - fp32 * kept::kStatistic.raw()) / kept::kActivation.raw();
    add("logits in fp32", of(vocabulary, tensor, kept::kStatistic), fp32, MemoryTerm::kLogits);
    add("logits in 16 bits", of(vocabulary, tensor), half, MemoryTerm::kLogits);
    if (!paper) add_norm(1, Norm::kFinal, MemoryTerm::kLogits);
  }

  void add_state(const MemoryBreakdown<>& memory) {
    const StateBytes& kept_bytes =
        e.question_.framework.state[static_cast<std::size_t>(e.question_.workload.optimizer)];
    add("weights", memory[MemoryTerm::kWeights], 1, MemoryTerm::kWeights);
    add("gradients", memory[MemoryTerm::kGradients], 1, MemoryTerm::kGradients);
    if (kept_bytes.optimizer() > bytes(0)) {
      const Bytes<> all = memory[MemoryTerm::kOptimizer];
      add("master weights", all * (kept_bytes.master.value / kept_bytes.optimizer()), 1,
          MemoryTerm::kOptimizer);
      add("optimizer moments", all * (kept_bytes.moments.value / kept_bytes.optimizer()), 1,
          MemoryTerm::kOptimizer);
    }
    if (!holds_first_chunk(plan, stage) && !holds_last_chunk(plan, stage)) return;
    const Ratio<> table = ratio(e.table_parameters(plan) / tensor);
    add("embedding or head table", table * kept_bytes.weight.value, 0, MemoryTerm::kWeights);
    add("embedding or head table, gathered", table * e.gathered_weight().value, 0, MemoryTerm::kTransient);
    if (e.frozen()) return;
    add("gradient of the embedding or head table", table * kept_bytes.gradient.value, 0,
        MemoryTerm::kGradients);
    add("gradient of the embedding or head table in 16 bits", table * kept::kActivation, 0,
        MemoryTerm::kTransient);
  }

  /// Layers gathered under full sharding: the largest is what the account holds.
  void add_gathered() {
    if (!e.gathers_layers(plan)) return;
    const StateBytes& kept_bytes =
        e.question_.framework.state[static_cast<std::size_t>(e.question_.workload.optimizer)];
    const auto layers = static_cast<std::int64_t>(e.question_.model.layers.size());
    double most = 0;
    for (int piece = 0; piece < chunks_of_rank(plan); ++piece) {
      const LayerRange range = chunk_layers(layers, plan, rank_chunk(plan, stage, piece));
      for (std::size_t k = 0; k < e.kinds_.kinds.size(); ++k) {
        const LayerOps& ops = e.kinds_.kinds[k];
        if (e.kinds_.count(k, range.first, range.last) == 0) continue;
        most = std::max(most, ops.tensor_parameters / plan.tp + ops.replicated_parameters +
                                  ops.expert_parameters / (d(plan.ep) * plan.etp));
      }
    }
    add("weights of one layer, gathered",
        ratio(most) * (e.frozen() ? e.base_width<double>() : e.gathered_weight().value), paper ? 0 : 2,
        MemoryTerm::kTransient);
    if (e.frozen()) return;
    add("gradients of one layer, unreduced", ratio(most) * kept_bytes.gradient.value, paper ? 0 : 1,
        MemoryTerm::kTransient);
  }
};

std::vector<Tensor> Estimator::tensors(const Plan& plan, int stage) const {
  StageTensors tensors{*this, plan, stage};
  const MemoryBreakdown<> memory = stage_memory<double>(plan, stage);
  tensors.add_state(memory);
  tensors.add_chunks();
  if (question_.activations == ActivationModel::kOps) tensors.add_edges();
  if (question_.activations == ActivationModel::kOps && has_table_ && holds_last_chunk(plan, stage)) {
    tensors.add_head_extras();
  }
  if (plan.offloads(Offload::kActivations)) {
    const Bytes<> kept = memory[MemoryTerm::kActivations] + host_memory<double>(plan, stage).activations;
    tensors.keep_share(memory[MemoryTerm::kActivations] / kept);
  }
  if (plan.sequence_parallel) {
    tensors.add("residual stream, gathered over tensor-parallel ranks", tensors.of(tensors.hidden, 1), 0,
                MemoryTerm::kTransient);
  }
  if (holds_last_chunk(plan, stage) && question_.model.vocab > 0) tensors.add_loss();
  tensors.add_gathered();
  tensors.add("framework buffers", memory[MemoryTerm::kBuffers], 1, MemoryTerm::kBuffers);
  return std::move(tensors.list);
}

std::vector<Tensor> largest(std::vector<Tensor> tensors, std::size_t count) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Tensor& a, const Tensor& b) { return a.held() > b.held(); });
  const auto none =
      std::find_if(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.alive == 0; });
  tensors.erase(none, tensors.end());
  if (tensors.size() > count)
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(count), tensors.end());
  return tensors;
}

}  // namespace shardplan
