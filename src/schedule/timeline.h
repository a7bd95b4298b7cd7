// A pipeline on a time line: when each operation of each rank starts and ends.
//
//   PipelineTimes t{{chunk 0, chunk 1, ...}, send};      // of one micro-batch, chunk by chunk
//   Timeline line = simulate(plan, t);                   // line.span, line.ranks[0].events
//
// A rank runs its list (operations.h) in that order, each operation as soon as the rank is free and its input
// is there: an exact simulation, linear in the number of operations. Sends are eager; nothing waits for a
// receiver to post.
//
// Not here: what a chunk costs (estimate/step_timeline.h), closed forms (cost/pipeline.h), collectives inside
// a pass (part of its time).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/operations.h"
#include "units/quantity.h"

namespace shardplan {

/// Passes of one micro-batch over one chunk. A whole backward pass takes both gradients.
struct PassTimes {
  Seconds<> forward, input_gradient, weight_gradient;
  Seconds<> backward() const { return input_gradient + weight_gradient; }
  Seconds<> total() const { return forward + backward(); }
};

struct PipelineTimes {
  std::vector<PassTimes> chunks;  // all_chunks(plan) of them (graph/stages.h)
  Seconds<> send;                 // one activation or gradient from rank to rank
  bool send_blocks = false;       // the sender computes nothing meanwhile
};

struct Event {
  Operation operation;
  std::int64_t chunk = 0;
  Seconds<> start, end;
  bool sends = false;  // its result goes to another rank
};

struct RankLine {
  std::vector<Event> events;  // in order of time
  Seconds<> busy;             // computing
  int live = 0;               // most micro-batches of a chunk whose activations are kept at once
  Seconds<> start() const { return events.front().start; }
  Seconds<> end() const { return events.back().end; }
  /// From its first operation to its last.
  Seconds<> span() const { return end() - start(); }
};

struct Timeline {
  std::vector<RankLine> ranks;
  /// The longest rank. It paces a step where a rank starts the next step by itself; where all wait for all, a
  /// step is `makespan`. Only schedules that split the backward pass tell the two apart.
  Seconds<> span;
  Seconds<> makespan;
  /// What a rank idles between its own first and last operation and the slowest rank's.
  Seconds<> bubble(int rank) const { return span - ranks[static_cast<std::size_t>(rank)].busy; }
};

Timeline simulate(const Plan& plan, const PipelineTimes& times);

}  // namespace shardplan
