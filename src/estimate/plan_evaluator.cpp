#include "estimate/plan_evaluator.h"

#include "estimate/plan_cache.h"

namespace shardplan {

PlanEvaluator::PlanEvaluator(const Estimator& estimator)
    : estimator_(estimator), parts_(std::make_unique<Parts>(estimator)) {}
PlanEvaluator::~PlanEvaluator() = default;

MemoryBreakdown<> PlanEvaluator::fullest_memory(const Plan& plan, int& stage) {
  parts_->turn_to(plan);
  parts_->size_stages();
  const Parts::StageStates& states = parts_->state_of(plan);
  const std::vector<int>& candidates = parts_->shape->stages;
  // Only what is offloaded depends on single layers once more.
  static const Estimator::LayerBytes<double> kNone;
  const auto& layers = plan.offload != 0 ? parts_->bytes_of_layers(plan) : kNone;
  MemoryBreakdown<> fullest;
  Bytes<> most;
  stage = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MemoryBreakdown<> memory =
        estimator_.stage_memory<double>(plan, candidates[i], layers, parts_->stages.part.bytes[i], states[i]);
    const Bytes<> total = memory.total();
    if (stage >= 0 && !(most < total)) continue;
    fullest = memory;
    most = total;
    stage = candidates[i];
  }
  return fullest;
}

TimeBreakdown<> PlanEvaluator::time(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->time_stages();
  return estimator_.step_time<double>(plan, parts_->stages.part.times, parts_->traffic_of(plan));
}

}  // namespace shardplan
