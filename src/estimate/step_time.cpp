// Time of a step: layers over micro-batches and stages, bubble, data parallelism, optimizer.
#include "cost/kernels.h"
#include "cost/pipeline.h"
#include "cost/schedules.h"
#include "cost/step_collectives.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

bool splits_backward(Schedule schedule) {
  return schedule == Schedule::kZbH1 || schedule == Schedule::kZbV || schedule == Schedule::kDualPipe;
}

/// One micro-batch on the rank that takes longest.
double slowest_rank(const Plan& plan, const std::vector<ChunkTimes>& chunks) {
  // Under DualPipe a rank's two stages share the micro-batches.
  const double share = plan.schedule == Schedule::kDualPipe ? 2 : 1;
  double slowest = 0;
  for (int stage = 0; stage < plan.pp; ++stage) {
    double spent = 0;
    for (int i = 0; i < chunks_of_rank(plan); ++i) {
      const ChunkTimes& chunk = chunks[static_cast<std::size_t>(rank_chunk(plan, stage, i))];
      spent += chunk.forward + chunk.backward + chunk.weight;
    }
    slowest = spent / share > slowest ? spent / share : slowest;
  }
  return slowest;
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
  add(TimeTerm::kLaunch, weigh(l.launch_forward + l.launch_backward + 2.0 * l.routing),
      weigh(l.launch_forward + l.launch_backward + 2.0 * l.routing));
  add(TimeTerm::kTensor, weigh(l.tensor_forward + l.tensor_backward),
      weigh(l.tensor_forward_exposed + l.tensor_backward_exposed));
  add(TimeTerm::kExpert, weigh(2.0 * l.expert), weigh(2.0 * l.expert_exposed));
  add(TimeTerm::kContext, weigh(l.context_forward + l.context_backward),
      weigh(l.context_forward_exposed + l.context_backward_exposed));
}

template <class N>
void Estimator::fill_layer_kernels(const Plan& plan, LayerTimes<N>& times) const {
  const Rates<N> rates(question_);
  times.kinds.clear();
  for (const LayerOps& ops : kinds_.kinds) times.kinds.push_back(layer_kernels<N>(plan, ops, rates));
  times.head_forward = times.head_backward = times.head_weight = {};
  logits_time<N>(plan, rates, times.head_forward, times.head_backward, times.head_weight);
}

template <class N>
Estimator::StageSends<N> Estimator::stage_sends(const Plan& plan) const {
  StageSends<N> sends;
  if (plan.pp <= 1) return sends;
  const bool scattered = question_.framework.timing.scattered_sends.value > ratio(0);
  const double sharers = plan.sequence_parallel || scattered ? plan.tp : 1;
  const Bytes<N> size =
      named("activation sent", micro_batch_tokens<N>(plan) *
                                   leaf<N>("hidden size", d(question_.model.hidden), model_source_) *
                                   leaf<N>("bytes of an activation", bytes(2), "16-bit activations") /
                                   leaf<N>("ranks that send a share each", sharers, "plan"));
  sends.bytes = value_of(size);
  sends.cost =
      step_collective<N>(Collective::kSendRecv, size, links<N>(), question_.cluster,
                         pipeline_senders(question_.cluster, plan), question_.cluster.device.law.send);
  return sends;
}

template <class N>
void Estimator::fill_stage_times(const Plan& plan, const PipelineShape& shape, const LayerTimes<N>& layers,
                                 const StageSends<N>& sends, StageTimes<N>& out) const {
  TimeBreakdown<N>& time = out.time;
  time = {};
  time.axes = layers.axes;
  const std::int64_t all = static_cast<std::int64_t>(question_.model.layers.size());
  const Ratio<N> micro_batches = degree<N>("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp);
  const Ratio<N> passes = named("micro-batches a stage, of the average stage", micro_batches / stages);
  const bool splits = splits_backward(plan.schedule);
  StagePasses<N> average;
  Seconds<N> all_layers{}, forward{}, backward{};
  std::array<double, kAxisCount> occurrences{};
  out.chunks.assign(shape.profile_of_chunk.size(), ChunkTimes{});
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const double count = d(kinds_.count(k, 0, all) + prediction_layers(k));
    const Ratio<N> n = leaf<N>("layers", count, model_source_);
    LayerTime<N> l = layers.kinds[k];
    l.recompute = recompute_time<N>(plan, kinds_.kinds[k], l);
    if (plan.recompute.kind == Recompute::Kind::kBlock) {
      l.recompute =
          l.recompute * leaf<N>("share of its layers that is recomputed", recomputed_share(plan, k), "plan");
    }
    add_layer_terms<N>(l, n, passes, time);
    all_layers += l.total() * n;
    forward += l.forward() * n;
    backward += (l.backward() + l.recompute) * n;
    if (plan.pp > 1) add_chunk_times<N>(shape, k, l, splits, out.chunks);
    if (splits) {
      average.forward += l.forward_pass() * n;
      average.weight += l.gemm_weight * n;
    }
    const double per_step = count * plan.grad_accumulation / plan.pp;
    if (value_of(l.tensor_forward) > 0)
      occurrences[static_cast<std::size_t>(Axis::kTensor)] += 2 * 2 * per_step;
    if (value_of(l.expert) > 0) occurrences[static_cast<std::size_t>(Axis::kExpert)] += 2 * 2 * per_step;
    if (value_of(l.context_forward) > 0)
      occurrences[static_cast<std::size_t>(Axis::kContext)] += (1 + 2) * per_step;
  }
  for (std::size_t a = 0; a < kAxisCount; ++a) time.axes[a].occurrences = occurrences[a];

  const Seconds<N> head = layers.head_forward + layers.head_backward;
  time[TimeTerm::kLogits].time += head * passes;
  average.all = named("one micro-batch on the average stage", (all_layers + head) / stages);
  if (splits) {
    average.forward = named("forward of the average stage", (average.forward + layers.head_forward) / stages);
    average.weight =
        named("weight gradients of the average stage", (average.weight + layers.head_weight) / stages);
  }
  out.forward = forward / stages;
  out.backward = backward / stages;
  if (plan.pp <= 1) return;
  const double weight = splits ? value_of(layers.head_weight) : 0;
  ChunkTimes& last = out.chunks.back();
  last.forward += value_of(layers.head_forward);
  last.backward += value_of(layers.head_backward) - weight;
  last.weight += weight;
  add_pipeline<N>(plan, sends, average, out);
}

Seconds<> Estimator::least_step(const Plan& plan, const LayerTimes<double>& layers) const {
  const std::int64_t all = static_cast<std::int64_t>(question_.model.layers.size());
  // How many layers are run again of some is the pipeline's to say.
  const bool some = plan.recompute.kind == Recompute::Kind::kBlock;
  Seconds<> work = layers.head_forward + layers.head_backward;
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const LayerTime<double>& layer = layers.kinds[k];
    const Seconds<> again = some ? Seconds<>(0.0) : recompute_time<double>(plan, kinds_.kinds[k], layer);
    work += (layer.total() + again) * ratio(d(kinds_.count(k, 0, all) + prediction_layers(k)));
  }
  return work * ratio(d(plan.grad_accumulation) / plan.pp);
}

/// A kind's layers, on the chunks that hold them.
template <class N>
void Estimator::add_chunk_times(const PipelineShape& shape, std::size_t kind, const LayerTime<N>& l,
                                bool splits, std::vector<ChunkTimes>& chunks) const {
  const double weight = splits ? value_of(l.gemm_weight) : 0;
  const ChunkTimes one{value_of(l.forward_pass()), value_of(l.backward_pass()) - weight, weight};
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const LayerRange& range = shape.profiles[shape.profile_of_chunk[c]];
    const double layers = d(kinds_.count(kind, range.first, range.last) +
                            (c + 1 == chunks.size() ? prediction_layers(kind) : 0));
    chunks[c].forward += layers * one.forward;
    chunks[c].backward += layers * one.backward;
    chunks[c].weight += layers * one.weight;
  }
}

template <class N>
TimeBreakdown<N> Estimator::step_time(const Plan& plan, const StageTimes<N>& stages,
                                      const ReplicaTraffic<N>& traffic) const {
  TimeBreakdown<N> time = stages.time;
  if (plan.replicas() > 1) add_data_parallel<N>(plan, traffic, stages.forward, stages.backward, time);
  if (plan.schedule == Schedule::kDualPipe) time[TimeTerm::kData].time += traffic.twins;
  if (plan.offload != 0) add_offload<N>(plan, traffic, stages.forward, stages.backward, time);
  if (value_of(traffic.optimizer) > 0) time[TimeTerm::kOptimizer].time += traffic.optimizer;
  add_overheads<N>(plan, time);
  return time;
}

template <class N>
TimeBreakdown<N> Estimator::time(const Plan& plan) const {
  LayerTimes<N> layers;
  fill_layer_times<N>(plan, layers);
  StageTimes<N> stages;
  const PipelineShape shape = pipeline_shape(kinds_, plan);
  fill_stage_times<N>(plan, shape, layers, stage_sends<N>(plan), stages);
  return step_time<N>(plan, stages, replica_traffic<N>(plan, heaviest_stage(plan, shape.stages)));
}

template <class N>
Seconds<N> Estimator::optimizer_time(const Plan& plan, double updated) const {
  if (plan.offloads(Offload::kOptimizer)) return {};
  return call<OptimizerTime>(OptimizerTime::In<N>{
      leaf<N>("parameters this rank updates", updated, model_source_), PassRates<N>(question_).memory});
}

/// What a step takes beyond the work: the engine's time a micro-batch, waiting for the slowest rank, a fixed
/// time.
template <class N>
void Estimator::add_overheads(const Plan& plan, TimeBreakdown<N>& time) const {
  const Timing& t = question_.framework.timing;
  if (t.jitter.value > ratio(0)) {
    time[TimeTerm::kStragglers].time = call<StragglerWait>(StragglerWait::In<N>{
        time.total(), leaf<N>("spread of a rank's step", t.jitter.value, t.jitter.source),
        leaf<N>("ranks", d(question_.cluster.gpus), "question")});
  }
  time[TimeTerm::kStep].time = leaf<N>("fixed time of a step", t.step.value, t.step.source);
  if (plan.pp > 1) {
    time[TimeTerm::kStep].time +=
        leaf<N>("engine time of a micro-batch on a stage", t.stage_pass.value, t.stage_pass.source) *
        (degree<N>("micro-batches", plan.grad_accumulation) + degree<N>("pipeline stages", plan.pp) -
         Ratio<N>(N(1.0)));
  }
  if (question_.workload.data_loading) {
    TimeEntry<N>& loading = time[TimeTerm::kLoading];
    const Seconds<N> step = time.total();
    loading.time = leaf<N>("reading of a batch", *question_.workload.data_loading, "flag --data-loading");
    loading.hidden = min(loading.time, step);
  }
}

template <class N>
void Estimator::add_pipeline(const Plan& plan, const StageSends<N>& send, const StagePasses<N>& average,
                             StageTimes<N>& out) const {
  TimeBreakdown<N>& time = out.time;
  const auto plan_leaf = [](const char* what, std::int64_t value) { return leaf<N>(what, d(value), "plan"); };
  const Ratio<N> micro_batches = plan_leaf("micro-batches", plan.grad_accumulation);
  const Ratio<N> stages = plan_leaf("pipeline stages", plan.pp),
                 chunks = plan_leaf("chunks a rank", plan.schedule == Schedule::kZbV ? 2 : plan.interleave);
  const auto add = [&](TimeTerm term, const Seconds<N>& spent) { time[term].time += spent; };

  const Seconds<N> slowest = leaf<N>("one micro-batch on the slowest stage",
                                     seconds(slowest_rank(plan, out.chunks)), "sum of its layers and head");
  add(TimeTerm::kImbalance, call<StageImbalance>(StageImbalance::In<N>{micro_batches, slowest, average.all}));
  if (has_stage_path(plan.schedule)) {
    const PipelinePath path =
        longest_path(plan, [&](std::int64_t chunk) { return out.chunks[static_cast<std::size_t>(chunk)]; });
    const Seconds<N> step = call<PipelineStagePath>(path.in<N>());
    add(TimeTerm::kBubble, max(step - micro_batches * slowest, Seconds<N>(N(0.0))));
  } else {
    add(TimeTerm::kBubble, split_bubble<N>(plan, average));
  }

  const Seconds<N> sends =
      call<PipelineSends>(PipelineSends::In<N>{stages, chunks, micro_batches, send.cost.cost.total()});
  TimeEntry<N>& entry = time[TimeTerm::kPipelineSends];
  entry.time += sends;
  if (plan.interleave > 1) {
    // No more than there is to run beside.
    const Sourced<Ratio<>>& hidden = question_.framework.timing.sends_hidden;
    entry.hidden += min(micro_batches * average.all,
                        sends * leaf<N>("share that is overlapped", hidden.value, hidden.source));
  }
  AxisCost<N>& axis = time.axis(Axis::kPipeline);
  const double pieces = value_of(chunks);
  const double count = 2 * pieces * (plan.grad_accumulation + (plan.pp - 1.0) / pieces);
  axis = {send.cost, Seconds<N>(N(0.0)), send.bytes, count};
}

/// Idle time while the pipeline fills and drains, of the schedules whose ranks hold both ends of it.
template <class N>
Seconds<N> Estimator::split_bubble(const Plan& plan, const StagePasses<N>& average) const {
  const Ratio<N> stages = degree<N>("pipeline stages", plan.pp);
  const Ratio<N> micro_batches = degree<N>("micro-batches", plan.grad_accumulation);
  const Seconds<N> input =
      named("input gradients of the average stage", average.all - average.forward - average.weight);
  if (plan.schedule == Schedule::kZbV) {
    return call<ZeroBubbleVBubble>(
        ZeroBubbleVBubble::In<N>{stages, micro_batches, average.forward, input, average.weight});
  }
  return call<DualPipeBubble>(DualPipeBubble::In<N>{stages, average.forward, input, average.weight});
}

template TimeBreakdown<double> Estimator::time<double>(const Plan&) const;
template TimeBreakdown<Traced> Estimator::time<Traced>(const Plan&) const;
template Seconds<double> Estimator::optimizer_time<double>(const Plan&, double) const;
template Seconds<Traced> Estimator::optimizer_time<Traced>(const Plan&, double) const;
template void Estimator::fill_layer_kernels<double>(const Plan&, LayerTimes<double>&) const;
template void Estimator::fill_stage_times<double>(const Plan&, const PipelineShape&,
                                                  const LayerTimes<double>&, const StageSends<double>&,
                                                  StageTimes<double>&) const;
template Estimator::StageSends<double> Estimator::stage_sends<double>(const Plan&) const;
template TimeBreakdown<double> Estimator::step_time<double>(const Plan&, const StageTimes<double>&,
                                                            const ReplicaTraffic<double>&) const;

}  // namespace shardplan
