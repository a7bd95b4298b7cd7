// The parts of a plan's account, each of which fewer axes decide than the whole: what many plans of a search
// share. Private to estimate/.
//
//   part             what decides it
//   LayerTimes       group sizes but dp and pp, micro-batch: one layer of each kind
//   StageSends       group sizes, micro-batch
//   StageTimes       and recomputation, the pipeline: everything but ZeRO, its shard group and offload
//   ReplicaTraffic   everything but the micro-batch and recomputation; of the pipeline only the StageLoad
//
//   LayerBytes, StageBytes, StageState: the same three of memory
//
// A step is made of StageTimes and ReplicaTraffic, a stage's memory of StageBytes and StageState. Estimator
// makes them for one plan; PlanEvaluator (plan_evaluator.h) keeps them from plan to plan.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "estimate/layer_time.h"

namespace shardplan {

/// One micro-batch on one layer of each kind, nothing of it run again, and on the head.
template <class N>
struct Estimator::LayerTimes {
  std::vector<LayerTime<N>> kinds;
  Seconds<N> head_forward{}, head_backward{}, head_weight{};
  std::array<AxisCost<N>, kAxisCount> axes;
};

/// An activation on its way to the next stage.
template <class N>
struct Estimator::StageSends {
  GroupCost<N> cost;
  double bytes = 0;
};

/// The pipeline's work in a step: terms up to the sends between stages.
template <class N>
struct Estimator::StageTimes {
  TimeBreakdown<N> time;
  Seconds<N> forward{}, backward{};  // one micro-batch's compute on the average stage
  std::vector<ChunkTimes> chunks;
};

/// Parameters on a rank of the stage that trains most: its replicas send and update longest, and the step
/// ends when the last stage has.
struct Estimator::StageLoad {
  int stage = 0;
  double dense = 0, expert = 0;
  double trained_dense = 0, trained_expert = 0;
  bool heavier_than(const StageLoad& other) const {
    const double own = trained_dense + trained_expert, its = other.trained_dense + other.trained_expert;
    return own != its ? own > its : dense + expert > other.dense + other.expert;
  }
  bool operator==(const StageLoad&) const = default;
  /// A little less: loads that are nearly the same share a bound of what they send.
  StageLoad rounded_down() const {
    const auto down = [](double parameters) {
      constexpr int kDigits = 4;  // binary ones that are kept
      int exponent = 0;
      const double digits = std::frexp(parameters, &exponent);
      return std::ldexp(std::floor(std::ldexp(digits, kDigits)), exponent - kDigits);
    };
    return {0, down(dense), down(expert), down(trained_dense), down(trained_expert)};
  }
};

/// What a step sends between replicas, and what the optimizer does.
template <class N>
struct Estimator::ReplicaTraffic {
  GroupCost<N> gather;  // weights, before a pass
  GroupCost<N> reduce;  // gradients
  Seconds<N> small_rings{}, twins{}, optimizer{};
  double gradient_bytes = 0, weight_bytes = 0;  // of one occurrence
  double updated = 0;                           // parameters
  int stage = 0;
};

/// What one micro-batch keeps of one layer of each kind, and what its backward pass needs beside that.
template <class N>
struct Estimator::LayerBytes {
  struct Kind {
    Bytes<N> kept{};
    Bytes<N> backward{};  // while it runs backward
    Bytes<N> again{};     // then, of what was not kept
  };
  std::vector<Kind> kinds;
  Bytes<N> inputs{};         // of one layer that is recomputed
  Bytes<N> loss{};           // logits and what is alive with them
  Bytes<N> head{}, table{};  // while the head, the embedding run backward
  Bytes<N> buffers{};
};

/// What the micro-batches in flight keep of a stage's layers.
template <class N>
struct Estimator::StageBytes {
  Bytes<N> activations{}, logits{};
  Bytes<N> deferred{};  // work of the head that waits
  Bytes<N> backward{};  // at the largest moment of the backward pass, beyond the loss
  Bytes<N> buffers{};
};

/// What a stage keeps whatever the micro-batch.
template <class N>
struct Estimator::StageState {
  MemoryBreakdown<N> state;  // weights, gradients, optimizer
  Bytes<N> gathered{};       // weights while a layer uses them, where they are sharded
  Bytes<N> step{};           // at the optimizer step
  Bytes<N> buffers{};
  Bytes<N> start{};  // before the weights are sharded
};

}  // namespace shardplan
