#include "estimate/estimator.h"

#include <algorithm>

#include "cost/state.h"
#include "estimate/formulas.h"

namespace shardplan {
namespace {
double d(std::int64_t v) { return static_cast<double>(v); }
}  // namespace

const char* name(MemoryTerm term) {
  static constexpr std::array<const char*, kMemoryTermCount> kNames{
      "weights", "gradients", "optimizer", "activations", "logits", "transient", "buffers"};
  return kNames[static_cast<std::size_t>(term)];
}

const char* name(TimeTerm term) {
  static constexpr std::array<const char*, kTimeTermCount> kNames{
      "gemm",           "attention",       "memory_bound",     "logits",          "recompute",
      "launch",         "tensor_parallel", "context_parallel", "expert_parallel", "data_parallel",
      "pipeline_sends", "pipeline_bubble", "stage_imbalance",  "optimizer",       "offload",
      "stragglers",     "step_overhead",   "data_loading"};
  return kNames[static_cast<std::size_t>(term)];
}

const char* name(Axis axis) {
  static constexpr std::array<const char*, kAxisCount> kNames{"tp", "cp", "ep", "dp", "pp"};
  return kNames[static_cast<std::size_t>(axis)];
}

const char* name(Verdict verdict) {
  static constexpr std::array<const char*, 3> kNames{"fits", "tight", "no"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Verdict verdict_of(Bytes<> total, Bytes<> usable, const ErrorBand* band) {
  if (band == nullptr) return total <= usable ? Verdict::kFits : Verdict::kNo;
  if (usable.raw() < band->low(total.raw())) return Verdict::kNo;
  return usable.raw() < band->high(total.raw()) ? Verdict::kTight : Verdict::kFits;
}

Estimator::Estimator(const Question& question)
    : question_(question),
      space_(question),
      kinds_(layer_kinds(question.model)),
      token_work_(token_work()),
      links_(cluster_links<double>(question.cluster)),
      traced_links_(cluster_links<Traced>(question.cluster)),
      parameters_(state_parameters(question.model)),
      model_source_("model " + question.model.name) {
  const Model& m = question.model;
  if (m.declared_parameters) {
    // Given by hand: the declared count is the truth, spread evenly over the layers.
    for (LayerOps& kind : kinds_.kinds) {
      kind.tensor_parameters = *m.declared_parameters / d(static_cast<std::int64_t>(m.layers.size()));
      kind.replicated_parameters = kind.expert_parameters = 0;
    }
    return;
  }
  has_table_ = m.has_embeddings;
  first_edge_whole_ = d(m.learned_positions * m.hidden + m.other_parameters);
  last_edge_whole_ = d(m.final_norm_parameters);
}

Bytes<> Estimator::bytes_per_parameter() const {
  using When = Framework::ExtraGradient::When;
  const Bytes<> kept =
      question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)].total();
  const auto& extra = question_.framework.extra_gradient;
  // A buffer that only replicas need is none of the least that any plan keeps.
  const bool always = extra && extra->when != When::kDataParallel && keeps_extra_gradient(*extra, Plan{});
  return always ? kept + extra->bytes.value : kept;
}

/// Of them, what the told offload keeps elsewhere under full sharding.
Bytes<> Estimator::bytes_off_device() const {
  const auto& can = question_.framework.offload;
  Plan told;
  told.offload = question_.fixed.offload.value_or(0);
  if (!can || !told.offloads(Offload::kOptimizer)) return bytes(0);
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Bytes<> device = told.offloads(Offload::kParameters) ? bytes(0) : kept.weight.value;
  const Bytes<> stays = can->gradients_leave_from ? device : device + kept.gradient.value;
  return bytes_per_parameter() - stays;
}

template <class N>
Bytes<N> Estimator::state_total() const {
  if (frozen()) return frozen_state<N>();
  return call<StateTotal>(StateTotal::In<N>{
      leaf<N>("parameters", parameters_, model_source_),
      leaf<N>("state bytes a parameter", bytes_per_parameter() - bytes_off_device(),
              "framework " + question_.framework.name + ", " + name(question_.workload.optimizer))});
}

template <class N>
Bytes<N> Estimator::usable() const {
  const Cluster& c = question_.cluster;
  return call<UsableMemory>(
      UsableMemory::In<N>{leaf<N>("HBM", c.device.memory_reported.value, c.device.memory_reported.source),
                          leaf<N>("fixed reserve", c.reserve_fixed.value, c.reserve_fixed.source),
                          leaf<N>("reserve share", c.reserve_share.value, c.reserve_share.source)});
}

template <class N>
Bytes<N> Estimator::state_floor(const Bytes<N>& state) const {
  return call<StateFloor>(StateFloor::In<N>{state, leaf<N>("GPUs", d(question_.cluster.gpus), "question")});
}

template <class N>
Ratio<N> Estimator::minimum_gpus(const Bytes<N>& state, const Bytes<N>& usable_bytes) const {
  return call<MinimumGpus>(MinimumGpus::In<N>{state, usable_bytes});
}

std::optional<Constraint> Estimator::broken_memory(const MemoryBreakdown<>& memory, Bytes<> usable_bytes) {
  Bytes<> sum = memory.state();
  if (sum > usable_bytes) return Constraint::kState;
  sum += memory[MemoryTerm::kActivations];
  if (sum > usable_bytes) return Constraint::kActivations;
  sum += memory[MemoryTerm::kLogits];
  if (sum > usable_bytes) return Constraint::kLogits;
  if (memory.total() > usable_bytes) return Constraint::kTransients;
  return std::nullopt;
}

std::optional<Constraint> Estimator::broken_memory(const Plan& plan, const MemoryBreakdown<>& memory,
                                                   Bytes<> usable_bytes) const {
  if (const auto broken = broken_memory(memory, usable_bytes)) return broken;
  const auto& host = question_.cluster.host_memory;
  if (host && plan.offload != 0 && host_need(plan) > host->value) return Constraint::kHostMemory;
  return std::nullopt;
}

Outcome Estimator::estimate(const Plan& plan) const {
  if (auto illegal = space_.violation(plan)) return *illegal;
  int stage = 0;
  const MemoryBreakdown<> memory = fullest_memory<double>(plan, stage);
  if (const auto broken = broken_memory(plan, memory, usable<double>())) {
    if (*broken == Constraint::kHostMemory) {
      return Violation{*broken, host_need(plan).raw(), question_.cluster.host_memory->value.raw(), "a node"};
    }
    return Violation{*broken, memory.total().raw(), usable<double>().raw(), "stage " + std::to_string(stage)};
  }
  return complete(plan, memory, stage);
}

MemoryAccount Estimator::memory_account(const Plan& plan) const {
  MemoryAccount account;
  for (int stage = 0; stage < plan.pp; ++stage) {
    account.by_stage.push_back(stage_memory<double>(plan, stage));
    account.peaks.push_back(memory_peaks<double>(plan, stage, account.by_stage.back()));
    account.host.push_back(host_memory<double>(plan, stage));
    if (account.worst().total() < account.by_stage.back().total())
      account.fullest = account.by_stage.size() - 1;
  }
  account.layer_activations = layer_activations<double>(plan, 0, question_.activations);
  account.ranks_of_host = ranks_of_host();
  account.usable = usable<double>();
  account.hbm = question_.cluster.device.memory_reported.value;
  return account;
}

Estimate Estimator::complete(const Plan& plan, const MemoryBreakdown<>& memory, int stage) const {
  Estimate e;
  e.plan = plan;
  e.memory = memory;
  e.fullest_stage = stage;
  e.usable = usable<double>();
  e.hbm = question_.cluster.device.memory_reported.value;
  e.time = time<double>(plan);
  e.step = e.time.total();
  const StepRates<> rates = step_rates<double>(plan, e.step);
  e.tokens_per_gpu = rates.tokens_per_gpu;
  e.mfu = rates.mfu;
  e.hfu = rates.hfu;
  return e;
}

double Estimator::recomputed_share(const Plan& plan, std::size_t kind) const {
  const auto layers = static_cast<std::int64_t>(question_.model.layers.size());
  std::int64_t count = 0;
  for (std::int64_t chunk = 0; chunk < all_chunks(plan); ++chunk) {
    const LayerRange again = recomputed_layers(plan, chunk_layers(layers, plan, chunk));
    count += kinds_.count(kind, again.first, again.last);
  }
  return d(count) / d(kinds_.count(kind, 0, layers));
}

std::int64_t Estimator::recomputed_count(const Plan& plan) const {
  const auto layers = static_cast<std::int64_t>(question_.model.layers.size());
  std::int64_t count = 0;
  for (std::int64_t chunk = 0; chunk < all_chunks(plan); ++chunk) {
    count += recomputed_layers(plan, chunk_layers(layers, plan, chunk)).count();
  }
  return count;
}

#define SHARDPLAN_INSTANTIATE(N)                                      \
  template Bytes<N> Estimator::state_total<N>() const;                \
  template Bytes<N> Estimator::usable<N>() const;                     \
  template Bytes<N> Estimator::state_floor<N>(const Bytes<N>&) const; \
  template Ratio<N> Estimator::minimum_gpus<N>(const Bytes<N>&, const Bytes<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
