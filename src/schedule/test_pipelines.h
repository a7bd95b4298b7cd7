// Pipelines for tests: plans of a schedule, chunk times equal or at random, and random legal plans.
//
//   simulate(pipeline(Schedule::kZbH1, 4, 8), equal_chunks(plan, 1, 1, 1))   // milliseconds
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "graph/stages.h"
#include "schedule/timeline.h"

namespace shardplan {

inline constexpr Schedule kAllSchedules[] = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                             Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};

inline bool splits_gradients(Schedule schedule) {
  return schedule == Schedule::kZbH1 || schedule == Schedule::kZbV || schedule == Schedule::kDualPipe;
}

inline Plan pipeline(Schedule schedule, std::int32_t stages, std::int32_t micro_batches,
                     std::int32_t interleave = 1) {
  Plan plan;
  plan.schedule = schedule;
  plan.pp = stages;
  plan.grad_accumulation = micro_batches;
  plan.interleave = interleave;
  return plan;
}

inline PassTimes pass_times(double forward_ms, double input_ms, double weight_ms) {
  return {milliseconds(forward_ms), milliseconds(input_ms), milliseconds(weight_ms)};
}

inline PipelineTimes equal_chunks(const Plan& plan, double forward_ms, double input_ms, double weight_ms) {
  PipelineTimes times;
  times.chunks.assign(static_cast<std::size_t>(all_chunks(plan)),
                      pass_times(forward_ms, input_ms, weight_ms));
  return times;
}

class RandomPipelines {
 public:
  explicit RandomPipelines(std::uint64_t seed) : random_(seed) {}

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::int32_t whole(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random_);
  }

  /// Legal, with as few as one micro-batch where the schedule allows it.
  Plan plan(Schedule schedule) {
    const std::int32_t stages = schedule == Schedule::kDualPipe ? 2 * whole(1, 4) : whole(2, 8);
    switch (schedule) {
      case Schedule::kInterleaved:
        return pipeline(schedule, stages, stages * whole(1, 5), whole(2, 4));
      case Schedule::kDualPipe:
        return pipeline(schedule, stages, 2 * whole(stages, 3 * stages));
      default:
        return pipeline(schedule, stages, whole(1, 5 * stages));
    }
  }

  /// Each pass of each chunk drawn by itself.
  PipelineTimes any_times(const Plan& plan) {
    PipelineTimes times;
    for (std::int64_t c = 0; c < all_chunks(plan); ++c) {
      times.chunks.push_back(pass_times(uniform(0.4, 2), uniform(0.4, 2), uniform(0.4, 2)));
    }
    return times;
  }

  /// As a model is cut: some chunks have a layer more than others, the last has the head; one ratio between
  /// the passes for all.
  PipelineTimes layered_times(const Plan& plan, bool even) {
    PipelineTimes times;
    const double input = uniform(1, 1.8), weight = uniform(0.5, 1);
    const double layers = whole(1, 8), head = uniform(0.2, 2);
    const std::int64_t chunks = all_chunks(plan);
    const std::int64_t longer = even ? 0 : whole(0, static_cast<std::int32_t>(chunks) - 1);
    for (std::int64_t c = 0; c < chunks; ++c) {
      const double work = layers + (c < longer ? 1 : 0) + (c == chunks - 1 ? head : 0);
      times.chunks.push_back(pass_times(work, work * input, work * weight));
    }
    return times;
  }

 private:
  std::mt19937_64 random_;
};

/// What the rank with most work computes in a step.
inline double busiest_s(const Timeline& line) {
  double most = 0;
  for (const RankLine& rank : line.ranks) most = std::max(most, rank.busy.raw());
  return most;
}

}  // namespace shardplan
