// Time of a step: layers over micro-batches and stages, bubble, data parallelism, optimizer.
#include <algorithm>

#include "cost/pipeline.h"
#include "cost/schedules.h"
#include "estimate/layer_time.h"
#include "estimate/plan_leaves.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

bool splits_backward(Schedule schedule) {
  return schedule == Schedule::kZbH1 || schedule == Schedule::kZbV || schedule == Schedule::kDualPipe;
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

template <>
const std::vector<Link<double>>& Estimator::links<double>() const {
  return links_;
}
template <>
const std::vector<Link<Traced>>& Estimator::links<Traced>() const {
  return traced_links_;
}

template <class N>
GroupCost<N> Estimator::replica_collective(Collective kind, const Bytes<N>& each, double dense_count,
                                           const Group& dense_group, double expert_count,
                                           const Group& expert_ranks) const {
  const Bytes<N> dense = leaf<N>("dense parameters on the rank", dense_count, model_source_) * each;
  GroupCost<N> cost = group_collective<N>(kind, dense, links<N>(), question_.cluster, dense_group);
  if (expert_count > 0) {
    const Bytes<N> expert = leaf<N>("expert parameters on the rank", expert_count, model_source_) * each;
    cost += group_collective<N>(kind, expert, links<N>(), question_.cluster, expert_ranks);
  }
  return cost;
}

/// Everything that a rank computes with, of a frozen base too.
template <class N>
GroupCost<N> Estimator::weights_gathered(const Plan& plan) const {
  double expert = 0;
  const double dense = stage_parameters(plan, 0, expert);
  const Bytes<N> each =
      frozen() ? base_width<N>()
               : leaf<N>("bytes sent for each parameter", gathered_weight().value, gathered_weight().source);
  return replica_collective<N>(Collective::kAllGather, each, dense, dense_shard_group(plan), expert,
                               expert_shard_group(plan));
}

template <class N>
void Estimator::add_data_parallel(const Plan& plan, const Seconds<N>& forward, const Seconds<N>& backward,
                                  TimeBreakdown<N>& time) const {
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  double expert_count = 0;
  const double dense_count = trained_parameters(plan, 0, expert_count);
  const auto reduced = [&](bool sharded) {
    const Bytes<N> each = leaf<N>("bytes sent for each parameter", kept.gradient.value, kept.gradient.source);
    const GroupCost<N> cost =
        replica_collective<N>(sharded ? Collective::kReduceScatter : Collective::kAllReduce, each,
                              dense_count, dense_shard_group(plan), expert_count, expert_shard_group(plan));
    if (plan.shard_group == 0) return cost;
    // Hybrid sharding: then each shard over the groups.
    return one_after_the_other(
        cost,
        replica_collective<N>(Collective::kAllReduce, each, dense_count / d(dense_shard_group(plan).count),
                              dense_shard_replicas(plan), expert_count / d(expert_shard_group(plan).count),
                              expert_shard_replicas(plan)));
  };
  TimeEntry<N>& entry = time[TimeTerm::kData];
  AxisCost<N>& axis = time.axis(Axis::kData);
  const auto add = [&](const GroupCost<N>& cost, const Seconds<N>& window, double times) {
    const Ratio<N> repeat = leaf<N>("times in a step", times, "plan");
    const Seconds<N> total = cost.cost.total();
    const Seconds<N> exposed = call<ExposedTime>(ExposedTime::In<N>{total, window, contention<N>()});
    entry.time += total * repeat;
    entry.hidden += (total - exposed) * repeat;
  };
  const auto note = [&](const GroupCost<N>& cost, const Seconds<N>& window, double times, double size) {
    axis = {cost, window, size, times};
  };
  const double micro_batches = plan.grad_accumulation;
  const double parameters = dense_count + expert_count;
  const double gradient_bytes = parameters * kept.gradient.value.raw();
  if (shards.weights) {
    // Full sharding: weights are gathered for each pass, gradients reduced in each backward pass.
    const auto gather = weights_gathered<N>(plan);
    auto reduce = reduced(true);
    add(gather, forward, micro_batches);
    if (plan.shard_group == 0) {
      reduce += gather;
    } else {
      reduce = one_after_the_other(reduce, gather);
    }
    add(reduce, backward, micro_batches);
    double experts = 0;
    const double weights = stage_parameters(plan, 0, experts) + experts;
    const Bytes<> width = frozen() ? base_width<double>() : gathered_weight().value;
    note(reduce, backward, micro_batches, gradient_bytes + weights * width.raw());
    return;
  }
  const bool sharded = shards.gradients || shards.optimizer;
  const auto reduce = reduced(sharded);
  const double times = shards.gradients ? micro_batches : 1;
  add(reduce, backward, times);
  note(reduce, backward, times, gradient_bytes);
  if (sharded) {
    const Bytes<N> each =
        leaf<N>("bytes sent for each parameter", gathered_weight().value, gathered_weight().source);
    add(replica_collective<N>(Collective::kAllGather, each, dense_count, dense_shard_group(plan),
                              expert_count, expert_shard_group(plan)),
        forward, 1);
  }
}

/// A kind's layers, over the micro-batches of the average stage, by kind of work.
template <class N>
void Estimator::add_layer_terms(const LayerTime<N>& l, const Ratio<N>& n, const Ratio<N>& passes,
                                TimeBreakdown<N>& time) {
  const auto add = [&](TimeTerm term, const Seconds<N>& spent, const Seconds<N>& exposed) {
    time[term].time += spent;
    time[term].hidden += spent - exposed;
  };
  const auto weigh = [&](const Seconds<N>& s) { return s * n * passes; };
  add(TimeTerm::kGemm, weigh(l.gemm_forward + l.gemm_backward), weigh(l.gemm_forward + l.gemm_backward));
  add(TimeTerm::kAttention, weigh(l.attention_forward + l.attention_backward),
      weigh(l.attention_forward + l.attention_backward));
  add(TimeTerm::kMemoryBound, weigh(l.memory_forward + l.memory_backward),
      weigh(l.memory_forward + l.memory_backward));
  add(TimeTerm::kRecompute, weigh(l.recompute), weigh(l.recompute));
  add(TimeTerm::kLaunch, weigh(l.launch), weigh(l.launch));
  add(TimeTerm::kTensor, weigh(2.0 * l.tensor), weigh(2.0 * l.tensor));
  add(TimeTerm::kExpert, weigh(2.0 * l.expert), weigh(2.0 * l.expert));
  add(TimeTerm::kContext, weigh(l.context_forward + l.context_backward),
      weigh(l.context_forward_exposed + l.context_backward_exposed));
}

template <class N>
TimeBreakdown<N> Estimator::time(const Plan& plan) const {
  TimeBreakdown<N> time;
  const Rates<N> rates(question_.cluster.device, question_.workload.precision);
  const auto& tier_links = links<N>();
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  const Ratio<N> micro_batches = degree<N>("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp);
  const Ratio<N> passes = named("micro-batches a stage, of the average stage", micro_batches / stages);
  const bool splits = splits_backward(plan.schedule);
  StagePasses<N> passes_split;
  Seconds<N> all_layers{}, forward{}, backward{};
  std::array<double, kDistinctLayersMax> slow{};  // seconds of one layer of each kind, for the slowest stage
  std::array<double, kAxisCount> occurrences{};
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const double count = d(kinds_.count(k, 0, layers));
    const Ratio<N> n = leaf<N>("layers", count, model_source_);
    LayerTime<N> l = layer_time<N>(plan, kinds_.kinds[k], rates, tier_links, time);
    if (plan.recompute.kind == Recompute::Kind::kBlock) {
      l.recompute =
          l.recompute * leaf<N>("share of its layers that is recomputed", recomputed_share(plan, k), "plan");
    }
    add_layer_terms<N>(l, n, passes, time);
    all_layers += l.total() * n;
    forward += l.forward() * n;
    backward += (l.backward() + l.recompute) * n;
    slow[k] = value_of(l.total());
    if (splits) {
      passes_split.forward += (l.forward() + l.tensor + l.expert + l.context_forward_exposed) * n;
      passes_split.weight += l.gemm_weight * n;
    }
    const double per_step = count * plan.grad_accumulation / plan.pp;
    if (value_of(l.tensor) > 0) occurrences[static_cast<std::size_t>(Axis::kTensor)] += 2 * 2 * per_step;
    if (value_of(l.expert) > 0) occurrences[static_cast<std::size_t>(Axis::kExpert)] += 2 * 2 * per_step;
    if (value_of(l.context_forward) > 0)
      occurrences[static_cast<std::size_t>(Axis::kContext)] += (1 + 2) * per_step;
  }
  for (std::size_t a = 0; a < kAxisCount; ++a) time.axes[a].occurrences = occurrences[a];

  Seconds<N> head_forward{}, head_backward{}, head_weight{};
  logits_time<N>(plan, rates, head_forward, head_backward, head_weight);
  const Seconds<N> head = head_forward + head_backward;
  time[TimeTerm::kLogits].time += head * passes;

  const Seconds<N> average = named("one micro-batch on the average stage", (all_layers + head) / stages);
  passes_split.all = average;
  if (splits) {
    passes_split.forward =
        named("forward of the average stage", (passes_split.forward + head_forward) / stages);
    passes_split.weight =
        named("weight gradients of the average stage", (passes_split.weight + head_weight) / stages);
  }
  add_pipeline<N>(plan, slow, head, passes_split, time);

  if (dense_replicas(plan).count > 1) {
    add_data_parallel<N>(plan, forward / stages, backward / stages, time);
  }
  if (plan.schedule == Schedule::kDualPipe) add_twin_reduction<N>(plan, time);
  if (plan.offload != 0) add_offload<N>(plan, forward / stages, backward / stages, time);
  if (plan.offloads(Offload::kOptimizer)) return time;
  const Seconds<N> update = call<OptimizerTime>(OptimizerTime::In<N>{
      leaf<N>("parameters this rank updates", updated_parameters(plan), model_source_), rates.memory});
  time[TimeTerm::kOptimizer].time += update;
  return time;
}

double Estimator::slowest_rank(const Plan& plan, const std::array<double, kDistinctLayersMax>& layer_seconds,
                               double head) const {
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  // Under DualPipe a rank's two stages share the micro-batches.
  const double share = plan.schedule == Schedule::kDualPipe ? 2 : 1;
  double slowest = 0;
  for (int stage = 0; stage < plan.pp; ++stage) {
    double spent = holds_last_chunk(plan, stage) ? head : 0.0;
    for (int i = 0; i < chunks_of_rank(plan); ++i) {
      const LayerRange range = chunk_layers(layers, plan, rank_chunk(plan, stage, i));
      for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
        spent += d(kinds_.count(k, range.first, range.last)) * layer_seconds[k];
      }
    }
    slowest = spent / share > slowest ? spent / share : slowest;
  }
  return slowest;
}

template <class N>
void Estimator::add_pipeline(const Plan& plan, const std::array<double, kDistinctLayersMax>& layer_seconds,
                             const Seconds<N>& head, const StagePasses<N>& average,
                             TimeBreakdown<N>& time) const {
  if (plan.pp <= 1) return;
  const auto plan_leaf = [](const char* what, std::int64_t value) { return leaf<N>(what, d(value), "plan"); };
  const Ratio<N> micro_batches = plan_leaf("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = plan_leaf("pipeline stages", plan.pp),
                 chunks = plan_leaf("chunks a rank", plan.schedule == Schedule::kZbV ? 2 : plan.interleave);
  const auto add = [&](TimeTerm term, const Seconds<N>& spent) { time[term].time += spent; };

  const double slowest = slowest_rank(plan, layer_seconds, value_of(head));
  add(TimeTerm::kImbalance,
      call<StageImbalance>(StageImbalance::In<N>{
          micro_batches,
          leaf<N>("one micro-batch on the slowest stage", seconds(slowest), "sum of its layers and head"),
          average.all}));
  add(TimeTerm::kBubble, bubble<N>(plan, average));

  const Bytes<N> size =
      named("activation sent",
            micro_batch_tokens<N>(plan) * leaf<N>("hidden size", d(question_.model.hidden), model_source_) *
                leaf<N>("bytes of an activation", bytes(2), "16-bit activations") /
                plan_leaf("sequence-parallel degree", plan.sequence_parallel ? plan.tp : 1));
  const auto send =
      group_collective<N>(Collective::kSendRecv, size, links<N>(), question_.cluster, pipeline_pair(plan));
  add(TimeTerm::kPipelineSends,
      call<PipelineSends>(PipelineSends::In<N>{stages, chunks, micro_batches, send.cost.total()}));
  AxisCost<N>& axis = time.axis(Axis::kPipeline);
  const double pieces = value_of(chunks);
  const double count = 2 * pieces * (plan.grad_accumulation + (plan.pp - 1.0) / pieces);
  axis = {send, Seconds<N>(N(0.0)), value_of(size), count};
}

/// Idle time while the pipeline fills and drains.
template <class N>
Seconds<N> Estimator::bubble(const Plan& plan, const StagePasses<N>& average) const {
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp);
  if (!splits_backward(plan.schedule)) {
    const Ratio<N> chunks = degree<N>("chunks a rank", plan.interleave);
    return call<PipelineBubble>(PipelineBubble::In<N>{stages, chunks, average.all});
  }
  const Seconds<N> input =
      named("input gradients of the average stage", average.all - average.forward - average.weight);
  switch (plan.schedule) {
    case Schedule::kZbV:
      return call<ZeroBubbleVBubble>(
          ZeroBubbleVBubble::In<N>{stages, average.forward, input, average.weight});
    case Schedule::kDualPipe:
      return call<DualPipeBubble>(DualPipeBubble::In<N>{stages, average.forward, input, average.weight});
    default:
      return call<ZeroBubbleH1Bubble>(
          ZeroBubbleH1Bubble::In<N>{stages, average.forward, input, average.weight});
  }
}

/// DualPipe's two copies of a stage are on ranks p - 1 - 2r apart: their gradients are summed, after those of
/// the replicas.
template <class N>
void Estimator::add_twin_reduction(const Plan& plan, TimeBreakdown<N>& time) const {
  double expert = 0;
  const double dense = trained_parameters(plan, 0, expert);
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const bool sharded = shards.gradients || shards.optimizer;
  const double each =
      sharded ? dense / d(dense_shard_group(plan).count) + expert / d(expert_shard_group(plan).count)
              : dense + expert;
  const Bytes<N> size = leaf<N>("parameters of both stages on the rank", each, model_source_) *
                        leaf<N>("gradient bytes", kept.gradient.value, kept.gradient.source);
  time[TimeTerm::kData].time +=
      group_collective<N>(Collective::kAllReduce, size, links<N>(), question_.cluster, pipeline_pair(plan))
          .cost.total();
}

template TimeBreakdown<double> Estimator::time<double>(const Plan&) const;
template TimeBreakdown<Traced> Estimator::time<Traced>(const Plan&) const;

}  // namespace shardplan
