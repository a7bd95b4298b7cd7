// Judges plan after plan of one question, and computes once what consecutive plans share.
//
//   PlanEvaluator judge(estimator);                     // one for each thread
//   const auto memory = judge.fullest_memory(plan, stage);   // as the estimator's, the same bits
//   const Seconds<> step = judge.time(plan).total();
//
// Fast where plans come in the order of Space::for_each: the pipeline, ZeRO and offload turn fastest.
#pragma once

#include <memory>

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

 private:
  struct Parts;
  const Estimator& estimator_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shardplan
