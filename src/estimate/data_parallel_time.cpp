// Time of data parallelism: gradient reductions, parameter gathers, and what of them runs beside compute.
#include "cost/rails.h"
#include "estimate/layer_time.h"
#include "estimate/plan_leaves.h"

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

}  // namespace

template <class N>
GroupCost<N> Estimator::shard_collective(const Plan& plan, Collective kind, const Sourced<Bytes<>>& width,
                                         const std::vector<Link<N>>& links) const {
  double expert_count = 0;
  const double dense_count = stage_parameters(plan, 0, expert_count);
  // Full sharding gathers and reduces layer by layer.
  const bool by_layer = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].weights &&
                        has_rails(question_.cluster);
  const double pieces = by_layer ? d(static_cast<std::int64_t>(question_.model.layers.size())) / plan.pp : 1;
  const Ratio<N> repeat = leaf<N>("pieces of a pass, one a layer", pieces, "full sharding");
  const Bytes<N> each = leaf<N>("bytes sent for each parameter", width.value, width.source);
  const auto part = [&](const char* what, double count, const Group& group) {
    const Bytes<N> size = leaf<N>(what, count / pieces, model_source_) * each;
    return times<N>(rail_collective<N>(kind, size, links, question_.cluster, group), repeat);
  };
  GroupCost<N> cost = part("dense parameters on the rank", dense_count, dense_shard_group(plan));
  if (expert_count > 0) cost += part("expert parameters on the rank", expert_count, expert_shard_group(plan));
  return cost;
}

template <class N>
void Estimator::add_data_parallel(const Plan& plan, const std::vector<Link<N>>& links,
                                  const Seconds<N>& forward, const Seconds<N>& backward,
                                  TimeBreakdown<N>& time) const {
  const Framework& framework = question_.framework;
  const Timing& timing = framework.timing;
  const StateBytes& kept = framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const Sourced<Bytes<>>& gradient =
      timing.reduced_gradient.value > bytes(0) ? timing.reduced_gradient : kept.gradient;
  TimeEntry<N>& entry = time[TimeTerm::kData];
  AxisCost<N>& axis = time.axis(Axis::kData);
  const auto add = [&](const GroupCost<N>& cost, const Seconds<N>& pass, const Sourced<Ratio<>>& share,
                       double count) {
    const Ratio<N> repeat = leaf<N>("times in a step", count, "plan");
    const Seconds<N> total = cost.cost.total();
    const Seconds<N> window = pass * leaf<N>("share of the pass it may run under", share.value, share.source);
    const Seconds<N> exposed = call<ExposedTime>(ExposedTime::In<N>{total, window, contention<N>()});
    entry.time += total * repeat;
    entry.hidden += (total - exposed) * repeat;
    return window;
  };
  double expert_count = 0;
  const double parameters = stage_parameters(plan, 0, expert_count) + expert_count;
  const double micro_batches = plan.grad_accumulation;
  if (shards.weights) {
    // Full sharding: weights are gathered for each pass, gradients reduced in each backward pass.
    const double passes = plan.pp > 1 && framework.pipeline_keeps_gathered ? 1 : micro_batches;
    const auto gather = shard_collective<N>(plan, Collective::kAllGather, gathered_weight(), links);
    auto reduce = shard_collective<N>(plan, Collective::kReduceScatter, gradient, links);
    add(gather, forward, timing.gather_window, passes);
    reduce += gather;
    const Seconds<N> window = add(reduce, backward, timing.gather_window, passes);
    axis = {reduce, window, parameters * (gradient.value.raw() + gathered_weight().value.raw()), passes};
    return;
  }
  const bool sharded = shards.gradients || shards.optimizer;
  auto reduce = shard_collective<N>(plan, sharded ? Collective::kReduceScatter : Collective::kAllReduce,
                                    gradient, links);
  reduce = times<N>(
      reduce, leaf<N>("time over a ring's", timing.reduce_slowdown.value, timing.reduce_slowdown.source));
  const double count = shards.gradients ? micro_batches : 1;
  const Seconds<N> window = add(reduce, backward, timing.reduce_window, count);
  axis = {reduce, window, parameters * gradient.value.raw(), count};
  if (sharded) {
    add(shard_collective<N>(plan, Collective::kAllGather, gathered_weight(), links), forward,
        timing.reduce_window, 1);
  }
  add_small_rings<N>(plan, entry);
}

/// Tensors that go round all owners of a shard one by one, each hop a latency.
template <class N>
void Estimator::add_small_rings(const Plan& plan, TimeEntry<N>& entry) const {
  const Timing& timing = question_.framework.timing;
  const double owners = d(dense_shard_group(plan).count) / d(question_.workload.optimizer_instances);
  if (timing.hops_a_layer.value.raw() <= 0 || owners * plan.tp <= d(question_.cluster.tiers.front().size))
    return;
  entry.time +=
      leaf<N>("a hop", timing.hop.value, timing.hop.source) *
      leaf<N>("tensors of a layer", timing.hops_a_layer.value, timing.hops_a_layer.source) *
      leaf<N>("layers of a stage", d(static_cast<std::int64_t>(question_.model.layers.size())) / plan.pp,
              model_source_) *
      leaf<N>("owners of a shard", owners, "placement");
}

/// DualPipe's two copies of a stage are on ranks p - 1 - 2r apart: their gradients are summed, after those of
/// the replicas.
template <class N>
void Estimator::add_twin_reduction(const Plan& plan, TimeBreakdown<N>& time) const {
  double expert = 0;
  const double dense = stage_parameters(plan, 0, expert);
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const bool sharded = shards.gradients || shards.optimizer;
  const double each =
      sharded ? dense / d(dense_shard_group(plan).count) + expert / d(expert_shard_group(plan).count)
              : dense + expert;
  const Bytes<N> size = leaf<N>("parameters of both stages on the rank", each, model_source_) *
                        leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source);
  time[TimeTerm::kData].time += group_collective<N>(Collective::kAllReduce, size, this->template links<N>(),
                                                    question_.cluster, pipeline_pair(plan))
                                    .cost.total();
}

template void Estimator::add_data_parallel<double>(const Plan&, const std::vector<Link<double>>&,
                                                   const Seconds<double>&, const Seconds<double>&,
                                                   TimeBreakdown<double>&) const;
template void Estimator::add_data_parallel<Traced>(const Plan&, const std::vector<Link<Traced>>&,
                                                   const Seconds<Traced>&, const Seconds<Traced>&,
                                                   TimeBreakdown<Traced>&) const;
template void Estimator::add_twin_reduction<double>(const Plan&, TimeBreakdown<double>&) const;
template void Estimator::add_twin_reduction<Traced>(const Plan&, TimeBreakdown<Traced>&) const;

}  // namespace shardplan
