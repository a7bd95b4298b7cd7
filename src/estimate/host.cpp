// What a plan keeps in the host's memory instead of the device's, and what the way there and back costs.
#include <algorithm>

#include "cost/compute.h"
#include "cost/offload.h"
#include "cost/state.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

template <class N>
Bytes<N> none() {
  return Bytes<N>(N(0.0));
}

}  // namespace

std::int64_t Estimator::ranks_of_host() const {
  // A scale-up domain may be a rack of many hosts; a node is what a tier has where it is no more than that.
  const Cluster& c = question_.cluster;
  return std::min({c.tiers.front().size, c.device.usual_gpus_per_node, c.gpus});
}

template <class N>
Bytes<N> Estimator::largest_layer_gradients(const Plan& plan) const {
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  double most = 0;
  for (const LayerOps& ops : kinds_.kinds) {
    const AdaptedWidths widths = adapted_widths(plan, ops);
    const double trained = frozen() ? (widths.dense + widths.expert) * d(question_.workload.adapters.rank)
                                    : ops.tensor_parameters / plan.tp + ops.replicated_parameters +
                                          ops.expert_parameters / (d(plan.ep) * plan.etp);
    most = std::max(most, trained);
  }
  return leaf<N>("trained parameters of the largest layer", most, model_source_) *
         leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source);
}

template <class N>
HostMemory<N> Estimator::offload(const Plan& plan, int stage, const LayerBytes<N>& layers,
                                 MemoryBreakdown<N>& memory) const {
  HostMemory<N> host;
  if (plan.offloads(Offload::kOptimizer)) {
    const Framework::HostOffload& can = *question_.framework.offload;
    const bool sharded = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].optimizer;
    double expert = 0;
    const double dense = trained_parameters(plan, stage, expert);
    host.optimizer = memory[MemoryTerm::kOptimizer];
    host.gradients = call<StateTerm>(
        StateTerm::In<N>{leaf<N>("gradient bytes on the host", can.gradient.value, can.gradient.source),
                         leaf<N>("dense parameters on the rank", dense, model_source_),
                         degree<N>("dense shards", sharded ? dense_shards(plan) : 1),
                         leaf<N>("expert parameters on the rank", expert, model_source_),
                         degree<N>("expert shards", sharded ? expert_shards(plan) : 1)});
    memory[MemoryTerm::kOptimizer] = none<N>();
    if (can.gradients_leave_from && plan.zero_stage >= *can.gradients_leave_from) {
      const auto& bucket = question_.framework.buffers.reduce_bucket;
      const Bytes<N> on_device = call<GradientsOnDevice>(
          GradientsOnDevice::In<N>{memory[MemoryTerm::kGradients], largest_layer_gradients<N>(plan),
                                   leaf<N>("reduction bucket", bucket.value, bucket.source)});
      Bytes<N>& transient = memory[MemoryTerm::kTransient];
      transient = value_of(transient) > 0 ? transient + on_device : on_device;
      memory[MemoryTerm::kGradients] = none<N>();
    }
  }
  if (plan.offloads(Offload::kParameters)) {
    host.weights = memory[MemoryTerm::kWeights];
    memory[MemoryTerm::kWeights] = none<N>();
  }
  if (plan.offloads(Offload::kActivations)) {
    Bytes<N> layer = none<N>();
    for (const auto& kind : layers.kinds) layer = max(layer, kind.kept);
    const Bytes<N> kept = memory[MemoryTerm::kActivations];
    memory[MemoryTerm::kActivations] = call<ActivationsOnDevice>(ActivationsOnDevice::In<N>{kept, layer});
    host.activations = kept - memory[MemoryTerm::kActivations];
  }
  return host;
}

template <class N>
HostMemory<N> Estimator::host_memory(const Plan& plan, int stage) const {
  if (plan.offload == 0) return {};
  LayerBytes<N> layers;
  fill_layer_bytes<N>(plan, layers);
  MemoryBreakdown<N> memory =
      kept_memory<N>(stage_bytes<N>(plan, stage, layers), stage_state<N>(plan, stage));
  return offload<N>(plan, stage, layers, memory);
}

Bytes<> Estimator::host_need(const Plan& plan) const {
  Bytes<> most;
  if (plan.offload == 0) return most;
  for (const int stage : pipeline_shape(kinds_, plan).stages)
    most = std::max(most, host_memory<double>(plan, stage).total());
  return static_cast<double>(ranks_of_host()) * most;
}

/// `forward` and `backward`: of one micro-batch on the average stage, beside which copies may run.
template <class N>
void Estimator::add_offload(const Plan& plan, const ReplicaTraffic<N>& traffic, const Seconds<N>& forward,
                            const Seconds<N>& backward, TimeBreakdown<N>& time) const {
  const Device& device = question_.cluster.device;
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const auto moved = [&](const Bytes<N>& size) {
    return call<HostTransfer>(HostTransfer::In<N>{
        size, leaf<N>("host link", device.pcie_bandwidth->value, device.pcie_bandwidth->source)});
  };
  TimeEntry<N>& entry = time[TimeTerm::kOffload];
  const auto beside = [&](const Seconds<N>& once, const Seconds<N>& window, double times) {
    const Ratio<N> repeat = leaf<N>("times in a step", times, "plan");
    const Seconds<N> felt = call<ExposedTime>(ExposedTime::In<N>{once, window, contention<N>()});
    entry.time += once * repeat;
    entry.hidden += (once - felt) * repeat;
  };
  const double micro_batches = plan.grad_accumulation;
  const Ratio<N> updated = leaf<N>("parameters this rank updates", traffic.updated, model_source_);
  const Bytes<N> weight = leaf<N>("gathered weight bytes", gathered_weight().value, gathered_weight().source);
  if (plan.offloads(Offload::kOptimizer)) {
    const Bytes<N> gradient = leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source);
    beside(moved(updated * gradient), backward, shards.gradients ? micro_batches : 1);
    const auto& adam = question_.framework.host.adam;
    entry.time += call<HostOptimizerTime>(
        HostOptimizerTime::In<N>{updated, leaf<N>("ranks of a node", d(ranks_of_host()), "cluster"),
                                 leaf<N>("parameters a node updates in a second", adam.value, adam.source)});
    if (!plan.offloads(Offload::kParameters)) entry.time += moved(updated * weight);
  }
  if (plan.offloads(Offload::kParameters)) {
    // The shard comes in for each pass of each micro-batch.
    const Bytes<N> shard = host_memory<N>(plan, traffic.stage).weights;
    beside(moved(shard), forward, micro_batches);
    beside(moved(shard), backward, micro_batches);
  }
  if (plan.offloads(Offload::kActivations)) {
    Bytes<N> all = none<N>();
    const auto layers = static_cast<std::int64_t>(question_.model.layers.size());
    for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
      all += layer_activations<N>(plan, k, question_.activations) *
             leaf<N>("layers", d(kinds_.count(k, 0, layers)), model_source_);
    }
    const Bytes<N> each = all / degree<N>("pipeline stages", plan.pp);
    beside(moved(each), forward, micro_batches);
    beside(moved(each), backward, micro_batches);
  }
}

#define SHARDPLAN_INSTANTIATE(N)                                                                            \
  template Bytes<N> Estimator::largest_layer_gradients<N>(const Plan&) const;                               \
  template HostMemory<N> Estimator::offload<N>(const Plan&, int, const LayerBytes<N>&, MemoryBreakdown<N>&) \
      const;                                                                                                \
  template HostMemory<N> Estimator::host_memory<N>(const Plan&, int) const;                                 \
  template void Estimator::add_offload<N>(const Plan&, const ReplicaTraffic<N>&, const Seconds<N>&,         \
                                          const Seconds<N>&, TimeBreakdown<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
