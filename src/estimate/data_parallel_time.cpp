// Time of data parallelism: gradient reductions, parameter gathers, and what of them runs beside compute.
#include "cost/step_collectives.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

template <class N>
GroupCost<N> times(GroupCost<N> cost, const Ratio<N>& repeat) {
  cost.cost.latency_term = cost.cost.latency_term * repeat;
  cost.cost.bandwidth_term = cost.cost.bandwidth_term * repeat;
  cost.paced_bandwidth_term = cost.paced_bandwidth_term * repeat;
  return cost;
}

/// Two collectives on different tiers: the longer one is what a faster link would be bought for.
template <class N>
GroupCost<N> one_after_the_other(const GroupCost<N>& first, const GroupCost<N>& second) {
  const bool second_leads = second.cost.total() > first.cost.total();
  GroupCost<N> both = second_leads ? second : first;
  const GroupCost<N>& other = second_leads ? first : second;
  const Seconds<N> paced = both.paced_bandwidth_term;
  both += other;
  if (other.paced_by != both.paced_by) both.paced_bandwidth_term = paced;
  both.tier = std::max(first.tier, second.tier);
  both.hierarchical = true;
  return both;
}

}  // namespace

template <class N>
GroupCost<N> Estimator::replica_collective(const Plan& plan, Collective kind, const Bytes<N>& each,
                                           double dense_count, const Group& dense_group, double expert_count,
                                           const Group& expert_ranks) const {
  // Full sharding gathers and reduces layer by layer.
  const bool by_layer = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].weights &&
                        has_collective_law(question_.cluster);
  const double pieces = by_layer ? d(static_cast<std::int64_t>(question_.model.layers.size())) / plan.pp : 1;
  const auto part = [&](const char* what, double count, const Group& group) {
    const Bytes<N> size = leaf<N>(what, count / pieces, model_source_) * each;
    const GroupCost<N> cost = step_collective<N>(kind, size, links<N>(), question_.cluster, group,
                                                 question_.cluster.device.law.collective);
    return pieces == 1 ? cost
                       : times<N>(cost, leaf<N>("pieces of a pass, one a layer", pieces, "full sharding"));
  };
  GroupCost<N> cost = part("dense parameters on the rank", dense_count, dense_group);
  if (expert_count > 0) cost += part("expert parameters on the rank", expert_count, expert_ranks);
  return cost;
}

/// Everything that a rank computes with, of a frozen base too.
template <class N>
GroupCost<N> Estimator::weights_gathered(const Plan& plan, const StageLoad& load) const {
  const Bytes<N> each =
      frozen() ? base_width<N>()
               : leaf<N>("bytes sent for each parameter", gathered_weight().value, gathered_weight().source);
  return replica_collective<N>(plan, Collective::kAllGather, each, load.dense, dense_shard_group(plan),
                               load.expert, expert_shard_group(plan));
}

/// Bytes of a gradient on the wire.
const Sourced<Bytes<>>& Estimator::reduced_gradient() const {
  const Framework& framework = question_.framework;
  return framework.timing.reduced_gradient.value > bytes(0)
             ? framework.timing.reduced_gradient
             : framework.state[static_cast<std::size_t>(question_.workload.optimizer)].gradient;
}

template <class N>
GroupCost<N> Estimator::gradients_reduced(const Plan& plan, const StageLoad& load, bool sharded) const {
  const double dense = load.trained_dense, expert = load.trained_expert;
  const Bytes<N> each =
      leaf<N>("bytes sent for each parameter", reduced_gradient().value, reduced_gradient().source);
  GroupCost<N> cost =
      replica_collective<N>(plan, sharded ? Collective::kReduceScatter : Collective::kAllReduce, each, dense,
                            dense_shard_group(plan), expert, expert_shard_group(plan));
  if (plan.shard_group != 0) {
    // Hybrid sharding: then each shard over the groups.
    cost = one_after_the_other(
        cost, replica_collective<N>(plan, Collective::kAllReduce, each, dense / d(dense_shards(plan)),
                                    dense_shard_replicas(plan), expert / d(expert_shards(plan)),
                                    expert_shard_replicas(plan)));
  }
  const Sourced<Ratio<>>& slowdown = question_.framework.timing.reduce_slowdown;
  if (slowdown.value == ratio(1)) return cost;
  return times<N>(cost, leaf<N>("time over a ring's", slowdown.value, slowdown.source));
}

Estimator::StageLoad Estimator::stage_load(const Plan& plan, int stage) const {
  StageLoad load;
  load.stage = stage;
  load.dense = load.trained_dense = stage_parameters(plan, stage, load.expert);
  load.trained_expert = load.expert;
  if (frozen()) load.trained_dense = trained_parameters(plan, stage, load.trained_expert);
  return load;
}

Estimator::StageLoad Estimator::heaviest_stage(const Plan& plan, const std::vector<int>& stages) const {
  StageLoad heaviest;
  for (const int stage : stages) {
    const StageLoad load = stage_load(plan, stage);
    if (load.heavier_than(heaviest)) heaviest = load;
  }
  return heaviest;
}

double Estimator::trained_shard(const Plan& plan, const StageLoad& load, bool sharded) {
  return sharded ? load.trained_dense / d(dense_shards(plan)) + load.trained_expert / d(expert_shards(plan))
                 : load.trained_dense + load.trained_expert;
}

template <class N>
Estimator::ReplicaTraffic<N> Estimator::replica_traffic(const Plan& plan, const StageLoad& load) const {
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  ReplicaTraffic<N> traffic;
  traffic.stage = load.stage;
  traffic.updated = trained_shard(plan, load, shards.optimizer);
  traffic.optimizer = optimizer_time<N>(plan, traffic.updated);
  if (plan.schedule == Schedule::kDualPipe) traffic.twins = twin_reduction<N>(plan, load);
  if (plan.replicas() <= 1) return traffic;
  traffic.gradient_bytes = (load.trained_dense + load.trained_expert) * reduced_gradient().value.raw();
  const bool sharded = shards.weights || shards.gradients || shards.optimizer;
  traffic.reduce = gradients_reduced<N>(plan, load, sharded);
  if (shards.weights) {
    traffic.gather = weights_gathered<N>(plan, load);
    const Bytes<> width = frozen() ? base_width<double>() : gathered_weight().value;
    traffic.weight_bytes = (load.dense + load.expert) * width.raw();
    return traffic;
  }
  if (sharded) {
    const Bytes<N> each =
        leaf<N>("bytes sent for each parameter", gathered_weight().value, gathered_weight().source);
    traffic.gather =
        replica_collective<N>(plan, Collective::kAllGather, each, load.trained_dense, dense_shard_group(plan),
                              load.trained_expert, expert_shard_group(plan));
    traffic.weight_bytes = (load.trained_dense + load.trained_expert) * gathered_weight().value.raw();
  }
  traffic.small_rings = small_rings<N>(plan);
  return traffic;
}

template <class N>
void Estimator::add_data_parallel(const Plan& plan, const ReplicaTraffic<N>& traffic,
                                  const Seconds<N>& forward, const Seconds<N>& backward,
                                  TimeBreakdown<N>& time) const {
  const Framework& framework = question_.framework;
  const Timing& timing = framework.timing;
  const Framework::Sharding& shards = framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  TimeEntry<N>& entry = time[TimeTerm::kData];
  AxisCost<N>& axis = time.axis(Axis::kData);
  const auto add = [&](const GroupCost<N>& cost, const Seconds<N>& pass, const Sourced<Ratio<>>& share,
                       double count) {
    const Ratio<N> repeat = leaf<N>("times in a step", count, "plan");
    const Seconds<N> total = cost.cost.total();
    Seconds<N> window = pass * leaf<N>("share of the pass it may run under", share.value, share.source);
    const Seconds<N> exposed = call<ExposedTime>(ExposedTime::In<N>{total, window, contention<N>()});
    entry.time += total * repeat;
    entry.hidden += (total - exposed) * repeat;
    return window;
  };
  if (shards.weights) {
    // Full sharding: weights are gathered for each pass, gradients reduced in each backward pass.
    const double passes =
        plan.pp > 1 && framework.pipeline_keeps_gathered && has_collective_law(question_.cluster)
            ? 1
            : plan.grad_accumulation;
    const Seconds<N> ahead = add(traffic.gather, forward, timing.gather_window, passes);
    time.gather = {traffic.gather, ahead, traffic.weight_bytes, passes};
    GroupCost<N> reduce = traffic.reduce;
    if (plan.shard_group == 0) {
      reduce += traffic.gather;
    } else {
      reduce = one_after_the_other(reduce, traffic.gather);
    }
    const Seconds<N> window = add(reduce, backward, timing.gather_window, passes);
    axis = {reduce, window, traffic.gradient_bytes + traffic.weight_bytes, passes};
    return;
  }
  const double count = shards.gradients ? plan.grad_accumulation : 1;
  const Seconds<N> window = add(traffic.reduce, backward, timing.reduce_window, count);
  axis = {traffic.reduce, window, traffic.gradient_bytes, count};
  if (shards.gradients || shards.optimizer) {
    const Seconds<N> ahead = add(traffic.gather, forward, timing.reduce_window, 1);
    time.gather = {traffic.gather, ahead, traffic.weight_bytes, 1};
  }
  if (value_of(traffic.small_rings) > 0) entry.time += traffic.small_rings;
}

/// Tensors that go round all owners of a shard one by one, each hop a latency.
template <class N>
Seconds<N> Estimator::small_rings(const Plan& plan) const {
  const Timing& timing = question_.framework.timing;
  const Group owners = dense_shard_group(plan);
  if (timing.hops_a_layer.value.raw() <= 0 || owners.span() <= question_.cluster.tiers.front().size)
    return {};
  return leaf<N>("a hop", timing.hop.value, timing.hop.source) *
         leaf<N>("tensors of a layer", timing.hops_a_layer.value, timing.hops_a_layer.source) *
         leaf<N>("layers of a stage", d(static_cast<std::int64_t>(question_.model.layers.size())) / plan.pp,
                 model_source_) *
         leaf<N>("owners of a shard", d(owners.count), "placement");
}

/// DualPipe's two copies of a stage are on ranks p - 1 - 2r apart: their gradients are summed, after those of
/// the replicas.
template <class N>
Seconds<N> Estimator::twin_reduction(const Plan& plan, const StageLoad& load) const {
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const bool sharded = shards.gradients || shards.optimizer;
  const Bytes<N> size =
      leaf<N>("parameters of both stages on the rank", trained_shard(plan, load, sharded), model_source_) *
      leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source);
  return step_collective<N>(Collective::kAllReduce, size, links<N>(), question_.cluster, pipeline_pair(plan),
                            question_.cluster.device.law.collective)
      .cost.total();
}

// NOLINTBEGIN(bugprone-macro-parentheses): a template argument cannot have them
#define SHARDPLAN_INSTANTIATE(N)                                                                            \
  template Estimator::ReplicaTraffic<N> Estimator::replica_traffic<N>(const Plan&, const StageLoad&) const; \
  template void Estimator::add_data_parallel<N>(const Plan&, const ReplicaTraffic<N>&, const Seconds<N>&,   \
                                                const Seconds<N>&, TimeBreakdown<N>&) const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace shardplan
