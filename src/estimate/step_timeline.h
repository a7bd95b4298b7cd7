// One step of a plan on a time line: the pipeline simulated operation by operation, then what follows it.
//
//   StepTimeline line = estimator.step_timeline(plan);
//   line.simulated;  line.estimated;          // the simulation's step, and the closed forms'
//   (Estimate::step) line.for_each([](const StepEvent& e) {    // rank by rank; nothing is stored for all
//   events at once
//     ...
//   });
//
// Passes last as long as the estimate says, with their exposed collectives inside. A layer's collectives take
// turns with its products; on the line all of one pass are drawn together at the pass's end. Not here: how
// the estimate comes to its times (step_time.cpp), files (report/timeline_trace.h, report/timeline_svg.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "catalog/plan.h"
#include "schedule/timeline.h"
#include "units/quantity.h"

namespace shardplan {

/// What can run beside each other on one GPU.
enum class Stream { kCompute, kTensor, kContext, kExpert, kData, kPipeline };
inline constexpr std::size_t kStreamCount = 6;
const char* name(Stream stream);

enum class StepWork {
  kForward,
  kRecompute,
  kBackward,
  kInputGradient,
  kWeightGradient,
  kCollectives,  // of one pass, on one axis
  kSend,
  kGradients,  // reduced over the replicas, weights gathered
  kOptimizer,
  kOther,  // what the estimate adds to a step besides
};
inline constexpr std::size_t kStepWorkCount = 10;
const char* name(StepWork work);

struct StepEvent {
  int rank = 0;  // of the pipeline
  Stream stream = Stream::kCompute;
  StepWork work = StepWork::kForward;
  Seconds<> start, end;
  std::int32_t micro_batch = -1;  // or none
  std::int64_t chunk = -1;        // or none
  Bytes<> bytes;                  // sent or reduced, of the whole vector
};

/// One micro-batch on one chunk.
struct ChunkWork {
  PassTimes passes;
  Seconds<> recompute;  // part of the input gradient's pass
  /// Collectives of each direction, on the streams between compute and data: time and bytes.
  struct Collectives {
    Seconds<> forward, backward;
    Bytes<> forward_bytes, backward_bytes;
  };
  std::array<Collectives, kStreamCount> collectives{};
};

struct StepTimeline {
  Plan plan;
  std::vector<ChunkWork> chunks;
  PipelineTimes times;
  Timeline pipeline;
  Bytes<> sent;                            // one send
  Seconds<> gradients, gradients_exposed;  // of a rank in a step
  Bytes<> gradient_bytes;
  Seconds<> optimizer, other;
  Seconds<> simulated, estimated;

  /// The closed forms over the simulation, less one.
  double difference() const { return estimated.raw() / simulated.raw() - 1; }
  /// When a rank's gradients are all there for the step to end: its own end where the schedule lets it go on
  /// alone, the last rank's elsewhere.
  Seconds<> passes_end(int rank) const;

  template <class Visit>
  void for_each(Visit visit) const {
    for (int rank = 0; rank < plan.pp; ++rank) {
      for (const Event& event : pipeline.ranks[static_cast<std::size_t>(rank)].events) {
        visit_pass(rank, event, visit);
      }
      visit_end(rank, visit);
    }
  }

 private:
  template <class Visit>
  void visit_pass(int rank, const Event& event, Visit& visit) const {
    const ChunkWork& chunk = chunks[static_cast<std::size_t>(event.chunk)];
    const Pass pass = event.operation.pass;
    StepEvent e{rank,          Stream::kCompute,
                work_of(pass), event.start,
                event.end,     event.operation.micro_batch,
                event.chunk,   {}};
    const bool carries_recompute = pass == Pass::kBackward || pass == Pass::kInputGradient;
    if (carries_recompute && chunk.recompute > seconds(0)) {
      StepEvent again = e;
      again.work = StepWork::kRecompute;
      again.end = e.start = event.start + chunk.recompute;
      visit(again);
    }
    visit(e);
    e.start = event.start;
    if (pass == Pass::kWeightGradient) return;
    for (const Stream stream : {Stream::kTensor, Stream::kContext, Stream::kExpert}) {
      const auto& each = chunk.collectives[static_cast<std::size_t>(stream)];
      const bool forward = pass == Pass::kForward;
      const Seconds<> time = forward ? each.forward : each.backward;
      if (!(time > seconds(0))) continue;
      StepEvent collective = e;
      collective.stream = stream;
      collective.work = StepWork::kCollectives;
      collective.start = std::max(event.start, event.end - time);
      collective.bytes = forward ? each.forward_bytes : each.backward_bytes;
      visit(collective);
    }
    if (event.sends && times.send > seconds(0)) {
      visit(StepEvent{rank, Stream::kPipeline, StepWork::kSend, event.end, event.end + times.send,
                      e.micro_batch, e.chunk, sent});
    }
  }

  template <class Visit>
  void visit_end(int rank, Visit& visit) const {
    const Seconds<> ready = passes_end(rank), updated = ready + gradients_exposed + optimizer;
    if (gradients > seconds(0)) {
      const Seconds<> first = pipeline.ranks[static_cast<std::size_t>(rank)].start();
      visit(StepEvent{rank, Stream::kData, StepWork::kGradients,
                      std::max(first, ready - (gradients - gradients_exposed)), ready + gradients_exposed, -1,
                      -1, gradient_bytes});
    }
    if (optimizer > seconds(0)) {
      visit(StepEvent{
          rank, Stream::kCompute, StepWork::kOptimizer, ready + gradients_exposed, updated, -1, -1, {}});
    }
    if (other > seconds(0)) {
      visit(StepEvent{rank, Stream::kCompute, StepWork::kOther, updated, updated + other, -1, -1, {}});
    }
  }

  static StepWork work_of(Pass pass);
};

}  // namespace shardplan
