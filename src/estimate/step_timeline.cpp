#include "estimate/step_timeline.h"

#include "estimate/plan_parts.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

/// Terms that the simulation times itself; a step's others come on top of it.
bool within_pipeline(TimeTerm term) {
  switch (term) {
    case TimeTerm::kGemm:
    case TimeTerm::kAttention:
    case TimeTerm::kMemoryBound:
    case TimeTerm::kLogits:
    case TimeTerm::kRecompute:
    case TimeTerm::kLaunch:
    case TimeTerm::kTensor:
    case TimeTerm::kContext:
    case TimeTerm::kExpert:
    case TimeTerm::kPipelineSends:
    case TimeTerm::kBubble:
    case TimeTerm::kImbalance:
      return true;
    default:
      return false;
  }
}

/// Of one axis: as many bytes as the time is times one occurrence's.
Bytes<> bytes_of(const AxisCost<>& axis, Seconds<> time) {
  return axis.once() > seconds(0) ? bytes(axis.bytes) * (time / axis.once()) : bytes(0);
}

}  // namespace

const char* name(Stream stream) {
  constexpr std::array<const char*, kStreamCount> kNames{
      "compute", "tensor parallel", "context parallel", "expert parallel", "data parallel", "pipeline"};
  return kNames[static_cast<std::size_t>(stream)];
}

const char* name(StepWork work) {
  constexpr std::array<const char*, kStepWorkCount> kNames{
      "forward",     "recompute", "backward",           "input gradient", "weight gradient",
      "collectives", "send",      "gradient reduction", "optimizer",      "other"};
  return kNames[static_cast<std::size_t>(work)];
}

StepWork StepTimeline::work_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return StepWork::kForward;
    case Pass::kBackward:
      return StepWork::kBackward;
    case Pass::kInputGradient:
      return StepWork::kInputGradient;
    case Pass::kWeightGradient:
      return StepWork::kWeightGradient;
  }
  return StepWork::kOther;
}

Seconds<> StepTimeline::passes_end(int rank) const {
  const bool alone = plan.schedule == Schedule::kZbH1 || plan.schedule == Schedule::kZbV ||
                     plan.schedule == Schedule::kDualPipe;
  return alone ? pipeline.ranks[static_cast<std::size_t>(rank)].end() : pipeline.makespan;
}

/// `layers` of one kind, `recomputed` of them run again, added to a chunk.
void Estimator::add_layers(const LayerTime<double>& l, double layers, double recomputed,
                           ChunkWork& chunk) const {
  const Seconds<> again = l.recompute * recomputed;
  chunk.recompute += again;
  chunk.passes.forward += l.forward_pass() * layers;
  chunk.passes.input_gradient += (l.backward_pass() - l.recompute - l.gemm_weight) * layers + again;
  chunk.passes.weight_gradient += l.gemm_weight * layers;
  const auto add = [&](Stream stream, Seconds<> forward, Seconds<> backward) {
    auto& each = chunk.collectives[static_cast<std::size_t>(stream)];
    each.forward += forward * layers;
    each.backward += backward * layers;
  };
  add(Stream::kTensor, l.tensor_forward, l.tensor_backward);
  add(Stream::kExpert, l.expert, l.expert);
  add(Stream::kContext, l.context_forward, l.context_backward);
}

std::vector<ChunkWork> Estimator::chunk_works(const Plan& plan) const {
  LayerTimes<double> times;
  fill_layer_times<double>(plan, times);
  const auto layers = static_cast<std::int64_t>(question_.model.layers.size());
  std::vector<ChunkWork> chunks(static_cast<std::size_t>(all_chunks(plan)));
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    LayerTime<double> l = times.kinds[k];
    l.recompute = recompute_time<double>(plan, kinds_.kinds[k], l);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const LayerRange range = chunk_layers(layers, plan, static_cast<std::int64_t>(c));
      const LayerRange again = plan.recompute.whole_layers() ? recomputed_layers(plan, range) : range;
      const std::int64_t more = c + 1 == chunks.size() ? prediction_layers(k) : 0;
      add_layers(l, d(kinds_.count(k, range.first, range.last) + more),
                 d(kinds_.count(k, again.first, again.last)), chunks[c]);
    }
  }
  chunks.back().passes.forward += times.head_forward;
  chunks.back().passes.input_gradient += times.head_backward - times.head_weight;
  chunks.back().passes.weight_gradient += times.head_weight;
  return chunks;
}

StepTimeline Estimator::step_timeline(const Plan& plan) const {
  StepTimeline line;
  line.plan = plan;
  const TimeBreakdown<> time = this->time<double>(plan);
  line.estimated = time.total();
  line.chunks = chunk_works(plan);
  for (ChunkWork& chunk : line.chunks) {
    for (const auto& [stream, axis] :
         {std::pair(Stream::kTensor, Axis::kTensor), std::pair(Stream::kContext, Axis::kContext),
          std::pair(Stream::kExpert, Axis::kExpert)}) {
      auto& each = chunk.collectives[static_cast<std::size_t>(stream)];
      each.forward_bytes = bytes_of(time.axis(axis), each.forward);
      each.backward_bytes = bytes_of(time.axis(axis), each.backward);
    }
    line.times.chunks.push_back(chunk.passes);
  }
  const TimeEntry<>& sends = time[TimeTerm::kPipelineSends];
  if (sends.time > seconds(0)) {
    // The share that the estimate exposes holds the sender up; sends that are hidden only take their time.
    line.times.send_blocks = sends.exposed() > seconds(0);
    line.times.send = time.axis(Axis::kPipeline).once();
    if (line.times.send_blocks) line.times.send = line.times.send * (sends.exposed() / sends.time);
    line.sent = bytes(time.axis(Axis::kPipeline).bytes);
  }
  line.pipeline = simulate(plan, line.times);
  const TimeEntry<>& data = time[TimeTerm::kData];
  line.gradients = data.time;
  line.gradients_exposed = data.exposed();
  line.gradient_bytes = bytes(time.axis(Axis::kData).bytes * time.axis(Axis::kData).occurrences);
  line.optimizer = time[TimeTerm::kOptimizer].exposed();
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    if (within_pipeline(term) || term == TimeTerm::kData || term == TimeTerm::kOptimizer) continue;
    line.other += time.terms[i].exposed();
  }
  line.simulated = line.pipeline.span + line.gradients_exposed + line.optimizer + line.other;
  return line;
}

}  // namespace shardplan
