// The stage that paces a step, for stages of unequal time: the inputs of PipelineStagePath (cost/pipeline.h)
// for each stage, and the longest.
//
//   const auto path = longest_path(plan, [&](std::int64_t chunk) { return ChunkTimes{...}; });
//   path.step();                            // seconds; path.stage says which stage
//   call<PipelineStagePath>(path.in<N>());  // the same with its trace
//
// Why no step is shorter than a stage's path. Before the stage's first pass the stages before it run theirs,
// and after its last the gradient goes back through them. In between it computes m micro-batches. Its order
// lets it run n forward passes and no more before its first backward pass, whose gradient comes by way of all
// stages after it: where their way is longer than n forward passes, it waits for the rest. The same holds,
// mirrored, after its last forward pass. With n < k the two waits lie apart, and their sum counts.
//
// Two passes over the chunks and nothing stored, so that a search can ask it of every plan. Within a run of
// alike stages a path is a convex function of the stage, so that only the ends of the run are asked. Exact
// where PipelineStagePath says so, never more than the event simulation (schedule/timeline.h), which the
// tests hold it against. Not for ZB-V and DualPipe: their bubbles are in cost/schedules.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cost/pipeline.h"
#include "graph/stages.h"

namespace shardplan {

/// Passes of one micro-batch over a chunk, in seconds. `weight` is 0 where the schedule does not split the
/// backward pass, and the gradient of the weights is in `backward`.
struct ChunkTimes {
  double forward = 0, backward = 0, weight = 0;
  bool operator==(const ChunkTimes&) const = default;
};

struct PipelinePath {
  int stage = 0;
  double micro_batches = 0, micro_batch = 0, around = 0, passes = 0, in_flight = 0;
  double fill_path = 0, fill_work = 0, drain_path = 0, drain_work = 0;

  template <class N>
  PipelineStagePath::In<N> in() const {
    const auto time = [](const char* what, double value) { return leaf<N>(what, seconds(value), "stages"); };
    return {leaf<N>("micro-batches", micro_batches, "plan"),
            time("one micro-batch on the stage", micro_batch),
            time("before its first and after its last pass", around),
            leaf<N>("forward passes", passes, "plan"),
            leaf<N>("forward passes in flight", in_flight, "schedule"),
            time("path to its first backward pass", fill_path),
            time("its forward passes before that", fill_work),
            time("path to its last backward pass", drain_path),
            time("its passes after the last forward pass", drain_work)};
  }
  double step() const { return value_of(PipelineStagePath::eval(in<double>())); }
};

inline bool has_stage_path(Schedule schedule) {
  return schedule != Schedule::kZbV && schedule != Schedule::kDualPipe;
}

namespace detail {

/// Sums that grow along the stages.
struct PathSums {
  double before = 0;                             // forward and backward of the stages before, first chunk
  double forward_from = 0, backward_from = 0;    // of this stage's first chunk and all chunks after it
  double forward_after = 0, backward_after = 0;  // of the chunks after this stage's last one
};

/// Forward passes that a stage runs before its first backward pass, if there are as many.
inline double in_flight(const Plan& plan, int stage) {
  const double after = plan.pp - 1 - stage;
  return 1 + (plan.interleave > 1 ? 2 * after + (plan.interleave - 1.0) * plan.pp : after);
}

/// Whether a stage and the next one take the same times, each for all its chunks.
template <class Chunk>
bool like_the_next(const Plan& plan, int stage, const Chunk& chunk) {
  if (stage + 1 >= plan.pp) return false;
  const ChunkTimes first = chunk(stage);
  for (int i = 0; i < plan.interleave; ++i) {
    const std::int64_t row = std::int64_t{i} * plan.pp;
    if (!(chunk(stage + row) == first) || !(chunk(stage + 1 + row) == first)) return false;
  }
  return true;
}

/// Whether all forward passes of the stage come before its first backward pass, unlike those of the next one:
/// there its two waits become one, and the path is not convex. Nor is it where ZB-H1 has no micro-batch left
/// whose weight gradient it could keep back.
inline bool waits_join(const Plan& plan, int stage) {
  if (plan.schedule == Schedule::kZbH1 && plan.grad_accumulation < plan.pp) return true;
  const double passes = static_cast<double>(plan.grad_accumulation) * plan.interleave;
  return (in_flight(plan, stage) >= passes) != (in_flight(plan, stage + 1) >= passes);
}

/// The first `count` passes of a rank whose chunks take turns, pp micro-batches each.
template <class Chunk, class Part>
double in_turns(const Plan& plan, int stage, double count, const Chunk& chunk, Part part) {
  double sum = 0;
  for (int i = 0; count > 0; ++i) {
    const double turn = std::min<double>(count, plan.pp);
    sum += turn * part(chunk(stage + std::int64_t{i % plan.interleave} * plan.pp));
    count -= turn;
  }
  return sum;
}

template <class Chunk>
PipelinePath stage_path(const Plan& plan, int stage, const PathSums& sums, const ChunkTimes& first,
                        const Chunk& chunk) {
  PipelinePath path;
  path.stage = stage;
  path.micro_batches = plan.grad_accumulation;
  path.passes = path.micro_batches * plan.interleave;
  path.in_flight = std::min(path.passes, in_flight(plan, stage));
  double weight = 0;
  for (int i = 0; i < plan.interleave; ++i) {
    const ChunkTimes t = chunk(stage + std::int64_t{i} * plan.pp);
    path.micro_batch += t.forward + t.backward + t.weight;
    weight += t.weight;
  }
  path.fill_path = sums.forward_from + sums.backward_after;
  path.drain_path = sums.forward_after + sums.backward_from;
  path.fill_work =
      in_turns(plan, stage, path.in_flight, chunk, [](const ChunkTimes& t) { return t.forward; });
  path.drain_work =
      in_turns(plan, stage, path.in_flight, chunk, [](const ChunkTimes& t) { return t.backward; });
  path.around = sums.before;
  if (plan.schedule == Schedule::kZbH1) {
    // Stage r keeps r weight gradients back and runs them after its last input gradient, while the stages
    // before it still wait for theirs; the first keeps none back but its last.
    const double kept = std::min<double>(path.micro_batches, stage + 1);
    path.drain_work += std::min(path.in_flight - 1, path.micro_batches - kept) * weight;
    path.around = std::max(0.0, sums.before + first.weight - kept * weight);
  }
  return path;
}

/// All forward passes, then all backward passes: each at the pace of the slowest stage.
template <class Chunk>
PipelinePath gpipe_path(const Plan& plan, const Chunk& chunk) {
  PipelinePath path;
  path.micro_batches = path.passes = path.in_flight = plan.grad_accumulation;
  double all = 0;
  for (int stage = 0; stage < plan.pp; ++stage) {
    const ChunkTimes t = chunk(stage);
    const double total = t.forward + t.backward + t.weight;
    all += total;
    if (total > path.micro_batch) {
      path.micro_batch = total;
      path.stage = stage;
    }
  }
  path.around = all - path.micro_batch;
  return path;
}

}  // namespace detail

/// So many micro-batches' time on the average stage a step lasts at the least, whatever share of the layers
/// each stage has.
///
/// GPipe's step is that of all stages and m - 1 times the slowest. Under 1F1B with m > p let the slowest
/// stage, of time t in all T, be the s-th from 0. Before it are stages of x, at most s t. It holds n = p - s
/// micro-batches, and its path is no shorter than x + m t + (T - x) + (T - x - t) - n t =
/// 2 T - x + (m - 1 - n) t >= 2 T + (m - 1 - p) t >= (m + p - 1) T / p.
inline double least_turns(const Plan& plan) {
  const bool gpipe = plan.schedule == Schedule::kGpipe;
  const bool filled = plan.schedule == Schedule::k1F1B && plan.grad_accumulation > plan.pp;
  return plan.grad_accumulation + (gpipe || filled ? plan.pp - 1.0 : 0.0);
}

/// `chunk(c)` gives the ChunkTimes of chunk c of all_chunks(plan). For the schedules of has_stage_path.
template <class Chunk>
PipelinePath longest_path(const Plan& plan, const Chunk& chunk) {
  if (plan.schedule == Schedule::kGpipe) return detail::gpipe_path(plan, chunk);
  const std::int64_t chunks = all_chunks(plan), last_row = chunks - plan.pp;
  detail::PathSums sums;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const ChunkTimes t = chunk(c);
    sums.forward_from += t.forward;
    sums.backward_from += t.backward;
    if (c < last_row) continue;
    sums.forward_after += t.forward;
    sums.backward_after += t.backward;
  }
  const ChunkTimes first = chunk(0);
  PipelinePath longest;
  double step = 0;
  bool like_before = false;
  for (int stage = 0; stage < plan.pp; ++stage) {
    const ChunkTimes last = chunk(last_row + stage), own = chunk(stage);
    sums.forward_after -= last.forward;
    sums.backward_after -= last.backward;
    const bool like_after = detail::like_the_next(plan, stage, chunk);
    const bool inside =
        like_before && like_after && !detail::waits_join(plan, stage - 1) && !detail::waits_join(plan, stage);
    if (!inside) {
      const PipelinePath path = detail::stage_path(plan, stage, sums, first, chunk);
      const double of_stage = path.step();
      if (stage == 0 || of_stage > step) {
        longest = path;
        step = of_stage;
      }
    }
    like_before = like_after;
    sums.before += own.forward + own.backward;
    sums.forward_from -= own.forward;
    sums.backward_from -= own.backward;
  }
  return longest;
}

}  // namespace shardplan
