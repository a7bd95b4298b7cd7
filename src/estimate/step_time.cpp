// Time of a step: layers over micro-batches and stages, bubble, data parallelism, optimizer.
#include "cost/pipeline.h"
#include "estimate/layer_time.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

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
void Estimator::add_data_parallel(const Plan& plan, const std::vector<Link<N>>& links,
                                  const Seconds<N>& forward, const Seconds<N>& backward,
                                  TimeBreakdown<N>& time) const {
  const Cluster& cluster = question_.cluster;
  double expert_count = 0;
  const double dense_count = stage_parameters(plan, 0, expert_count);
  const StateBytes& kept = question_.framework.state[static_cast<std::size_t>(question_.workload.optimizer)];
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const auto both = [&](Collective kind, Bytes<> width, const Source& source) {
    const Bytes<N> each = leaf<N>("bytes sent for each parameter", width, source);
    const Bytes<N> dense = leaf<N>("dense parameters on the rank", dense_count, model_source_) * each;
    GroupCost<N> cost = group_collective<N>(kind, dense, links, cluster, dense_shard_group(plan));
    if (expert_count > 0) {
      const Bytes<N> expert = leaf<N>("expert parameters on the rank", expert_count, model_source_) * each;
      const GroupCost<N> more = group_collective<N>(kind, expert, links, cluster, expert_shard_group(plan));
      cost += more;
    }
    return cost;
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
    const auto gather = both(Collective::kAllGather, gathered_weight().value, gathered_weight().source);
    auto reduce = both(Collective::kReduceScatter, kept.gradient.value, kept.gradient.source);
    add(gather, forward, micro_batches);
    reduce += gather;
    add(reduce, backward, micro_batches);
    note(reduce, backward, micro_batches, gradient_bytes + parameters * gathered_weight().value.raw());
    return;
  }
  const bool sharded = shards.gradients || shards.optimizer;
  const auto reduce = both(sharded ? Collective::kReduceScatter : Collective::kAllReduce, kept.gradient.value,
                           kept.gradient.source);
  const double times = shards.gradients ? micro_batches : 1;
  add(reduce, backward, times);
  note(reduce, backward, times, gradient_bytes);
  if (sharded)
    add(both(Collective::kAllGather, gathered_weight().value, gathered_weight().source), forward, 1);
}

template <class N>
TimeBreakdown<N> Estimator::time(const Plan& plan) const {
  TimeBreakdown<N> time;
  const Rates<N> rates(question_.cluster.device, question_.workload.precision);
  const auto& tier_links = links<N>();
  const std::int64_t layers = static_cast<std::int64_t>(question_.model.layers.size());
  const auto plan_leaf = [](const char* what, std::int64_t value) { return leaf<N>(what, d(value), "plan"); };
  const Ratio<N> micro_batches = plan_leaf("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = plan_leaf("pipeline stages", plan.pp);
  const Ratio<N> passes = named("micro-batches a stage, of the average stage", micro_batches / stages);
  const auto add = [&](TimeTerm term, const Seconds<N>& spent, const Seconds<N>& exposed) {
    time[term].time += spent;
    time[term].hidden += spent - exposed;
  };

  Seconds<N> all_layers{}, forward{}, backward{};
  std::array<double, kDistinctLayersMax> slow{};  // seconds of one layer of each kind, for the slowest stage
  std::array<double, kAxisCount> occurrences{};
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const double count = d(kinds_.count(k, 0, layers));
    const Ratio<N> n = leaf<N>("layers", count, model_source_);
    const LayerTime<N> l = layer_time<N>(plan, kinds_.kinds[k], rates, tier_links, time);
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
    all_layers += l.total() * n;
    forward += l.forward() * n;
    backward += (l.backward() + l.recompute) * n;
    slow[k] = value_of(l.total());
    const double per_step = count * plan.grad_accumulation / plan.pp;
    if (value_of(l.tensor) > 0) occurrences[static_cast<std::size_t>(Axis::kTensor)] += 2 * 2 * per_step;
    if (value_of(l.expert) > 0) occurrences[static_cast<std::size_t>(Axis::kExpert)] += 2 * 2 * per_step;
    if (value_of(l.context_forward) > 0)
      occurrences[static_cast<std::size_t>(Axis::kContext)] += (1 + 2) * per_step;
  }
  for (std::size_t a = 0; a < kAxisCount; ++a) time.axes[a].occurrences = occurrences[a];

  Seconds<N> head_forward{}, head_backward{};
  logits_time<N>(plan, rates, head_forward, head_backward);
  const Seconds<N> head = head_forward + head_backward;
  add(TimeTerm::kLogits, head * passes, head * passes);

  const Seconds<N> average = named("one micro-batch on the average stage", (all_layers + head) / stages);
  add_pipeline<N>(plan, slow, head, average, time);

  if (dense_shard_group(plan).count > 1) {
    add_data_parallel<N>(plan, tier_links, forward / stages, backward / stages, time);
  }
  double expert_count = 0;
  const double dense_count = stage_parameters(plan, 0, expert_count);
  const bool sharded = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)].optimizer;
  const double updated = sharded ? dense_count / d(dense_shard_group(plan).count) +
                                       expert_count / d(expert_shard_group(plan).count)
                                 : dense_count + expert_count;
  const Seconds<N> update = call<OptimizerTime>(
      OptimizerTime::In<N>{leaf<N>("parameters this rank updates", updated, model_source_), rates.memory});
  add(TimeTerm::kOptimizer, update, update);
  return time;
}

template <class N>
void Estimator::add_pipeline(const Plan& plan, const std::array<double, kDistinctLayersMax>& layer_seconds,
                             const Seconds<N>& head, const Seconds<N>& average,
                             TimeBreakdown<N>& time) const {
  if (plan.pp <= 1) return;
  const auto plan_leaf = [](const char* what, std::int64_t value) { return leaf<N>(what, d(value), "plan"); };
  const Ratio<N> micro_batches = plan_leaf("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = plan_leaf("pipeline stages", plan.pp),
                 chunks = plan_leaf("chunks a rank", plan.interleave);
  const auto add = [&](TimeTerm term, const Seconds<N>& spent) { time[term].time += spent; };

  double slowest = 0;
  for (int stage = 0; stage < plan.pp; ++stage) {
    double spent = stage == plan.pp - 1 ? value_of(head) : 0.0;
    for (std::int64_t chunk = stage; chunk < std::int64_t{plan.pp} * plan.interleave; chunk += plan.pp) {
      const LayerRange range =
          chunk_layers(static_cast<std::int64_t>(question_.model.layers.size()), plan, chunk);
      for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
        spent += d(kinds_.count(k, range.first, range.last)) * layer_seconds[k];
      }
    }
    slowest = spent > slowest ? spent : slowest;
  }
  add(TimeTerm::kImbalance,
      call<StageImbalance>(StageImbalance::In<N>{
          micro_batches,
          leaf<N>("one micro-batch on the slowest stage", seconds(slowest), "sum of its layers and head"),
          average}));
  add(TimeTerm::kBubble, call<PipelineBubble>(PipelineBubble::In<N>{stages, chunks, average}));

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
  const double count = 2 * plan.interleave * (plan.grad_accumulation + (plan.pp - 1.0) / plan.interleave);
  axis = {send, Seconds<N>(N(0.0)), value_of(size), count};
}

template TimeBreakdown<double> Estimator::time<double>(const Plan&) const;
template TimeBreakdown<Traced> Estimator::time<Traced>(const Plan&) const;

}  // namespace shardplan
