// Judges plan after plan of one question, and computes once what consecutive plans share.
//
//   PlanEvaluator judge(estimator);                     // one for each thread
//   const auto memory = judge.fullest_memory(plan, stage);   // as the estimator's, the same bits
//   const Seconds<> step = judge.time(plan).total();
//
// Fast where plans come in the order of Space::for_each: the pipeline, then ZeRO and offload turn fastest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "estimate/estimator.h"

namespace shardplan {

class PlanEvaluator {
 public:
  explicit PlanEvaluator(const Estimator& estimator);
  ~PlanEvaluator();
  PlanEvaluator(const PlanEvaluator&) = delete;
  PlanEvaluator& operator=(const PlanEvaluator&) = delete;

  const Estimator& estimator() const { return estimator_; }
  MemoryBreakdown<> fullest_memory(const Plan& plan, int& stage);
  TimeBreakdown<> time(const Plan& plan);

  // Bounds. `states` are those of LayoutPlans; a plan's own ZeRO stage, shard group and offload are not read.
  // Each part is computed once for consecutive plans.
  /// Before any of the bounds that ask for states.
  void turn_to_layout(const Plan& layout, const std::vector<Plan>& states);

  /// No step of the layout with the plan's micro-batch is shorter: nothing recomputed, no bubble, all
  /// replicas' traffic hidden.
  Seconds<> least_step_of_micro_batch(const Plan& plan);
  /// The same with what its layers run again.
  Seconds<> least_step_of_layers(const Plan& plan);
  /// Less than either: of kernels alone, whatever groups send.
  Seconds<> least_step_of_kernels(const Plan& plan);
  /// Its bubble makes a step so many times that at the least, however layers are dealt to the chunks.
  static double least_turns(const Plan& plan);
  /// Seconds of a micro-batch on n layers of the model, whichever they are, by n.
  void least_layers(const Plan& plan, std::vector<double>& seconds);
  /// Of one layer that is run again whole.
  Seconds<> least_recompute(const Plan& plan);
  /// Of a micro-batch on the head and on prediction layers, which are all on the last stage.
  Seconds<> least_head(const Plan& plan);
  /// What sends between stages add to a step at the least, however layers are dealt.
  Seconds<> least_sends(const Plan& plan);
  /// Nor of the plan, with any of the states; with one of them.
  Seconds<> least_step(const Plan& plan);
  Seconds<> least_step(const Plan& plan, std::size_t state);
  /// What data parallelism and the optimizer add to the plan's stages, with any of the states.
  Seconds<> least_replicas(const Plan& plan);
  /// The same whatever is recomputed, however the layers are dealt to the chunks, and whatever the schedule.
  Seconds<> least_replicas_of_dealings(const Plan& plan);

  /// The plan's fullest stage is no smaller, with any of the states; with one of them.
  Bytes<> least_memory(const Plan& plan);
  Bytes<> least_memory(const Plan& plan, std::size_t state);
  /// A smaller bound, of state and what layers keep alone, as held_by_layers says of the recomputation; not
  /// for plans that recompute some of a chunk's layers.
  Bytes<> least_memory_of_layers(const Plan& plan, const std::vector<double>& held);
  /// Nor where fewer of its layers are run again.
  Bytes<> least_memory_of_part(const Plan& plan);
  /// Nor however its layers are dealt to the chunks, nor where it runs `fewest` of them or more again at once
  /// instead of its number; not for plans that recompute some of a chunk's layers.
  Bytes<> least_memory_of_dealings(const Plan& plan, std::int32_t fewest);
  /// What a layer of each kind keeps, then the least that the backward pass of one takes: with another
  /// recomputation for which none of it is less, least_memory_of_dealings(plan, 1) is no less.
  void held_by_layers(const Plan& plan, std::vector<double>& bytes);
  /// So many layers of a plan that recomputes none have to be run again before any dealing fits.
  double least_layers_again(const Plan& plan, Bytes<> usable);

 private:
  struct Parts;
  const Estimator& estimator_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shardplan
