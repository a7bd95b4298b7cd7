// Judges plan after plan of one question, and computes once what consecutive plans share.
//
//   PlanEvaluator judge(estimator);                     // one for each thread
//   const auto memory = judge.fullest_memory(plan, stage);   // as the estimator's, the same bits
//   const Seconds<> step = judge.time(plan).total();
//
// Fast where plans come in the order of Space::for_each: the pipeline, then ZeRO and offload turn fastest.
#pragma once

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

  // No step is shorter, whatever the axes that are not named. Each is computed once for consecutive plans.
  /// Of the layout with the plan's micro-batch: nothing recomputed, no bubble, all replicas' traffic hidden.
  Seconds<> least_step_of_micro_batch(const Plan& plan);
  /// Of the plan whatever its ZeRO stage, shard group and offload.
  Seconds<> least_step(const Plan& plan);
  /// Nor is its fullest stage smaller, with any of `states` (LayoutPlans::states).
  Bytes<> least_memory(const Plan& plan, const std::vector<Plan>& states);
  /// Nor whatever its micro-batch and recomputation.
  Bytes<> least_memory_of_state(const Plan& plan);

 private:
  struct Parts;
  const Estimator& estimator_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shardplan
