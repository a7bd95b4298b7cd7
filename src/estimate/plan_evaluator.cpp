#include "estimate/plan_evaluator.h"

#include <array>

#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

// A part's key is the plan with every axis that does not decide the part at its default. What is forgotten
// here shows as a plan judged by another's part: plan_evaluator_test.cpp compares with the estimator, bit for
// bit.

Plan pipeline_key(const Plan& plan) {
  Plan key;
  key.pp = plan.pp;
  key.interleave = plan.interleave;
  key.schedule = plan.schedule;
  key.first_layers = plan.first_layers;
  key.last_layers = plan.last_layers;
  return key;
}

Plan stage_key(Plan plan) {
  plan.zero_stage = 0;
  plan.shard_group = 0;
  plan.offload = 0;
  return plan;
}

Plan layer_key(const Plan& plan) {
  Plan key = stage_key(plan);
  key.interleave = 1;
  key.schedule = Schedule::k1F1B;
  key.first_layers = key.last_layers = Plan::kEven;
  key.micro_batch_group = 0;
  key.grad_accumulation = 1;
  return key;
}

Plan state_key(Plan plan) {
  plan.micro_batch = plan.grad_accumulation = 1;
  plan.recompute = Recompute::kNone;
  plan.micro_batch_group = 0;
  return plan;
}

std::size_t hash(const Plan& p) {
  std::uint64_t sum = 0;
  const auto mix = [&](std::uint64_t value) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    constexpr int kTurn = 29;
    sum = (sum ^ value) * kOdd;
    sum ^= sum >> kTurn;
  };
  constexpr int kHalf = 32;
  const auto pair = [&](std::int64_t a, std::int64_t b) {
    mix(static_cast<std::uint64_t>(a) << kHalf ^ static_cast<std::uint64_t>(b));
  };
  pair(p.tp, p.pp);
  pair(p.cp, p.ep);
  pair(p.etp, p.interleave);
  pair(p.zero_stage, p.shard_group);
  pair(static_cast<std::int64_t>(p.schedule), p.offload);
  pair(p.first_layers, p.last_layers);
  return static_cast<std::size_t>(sum);
}

/// The part of the last plan asked for, and of the next as long as its key is the same.
template <class Part>
struct Last {
  Plan key;
  bool filled = false;
  Part part;
  /// Whether `part` has to be made for `now`.
  bool turns_to(const Plan& now) {
    if (filled && key == now) return false;
    key = now;
    return filled = true;
  }
};

/// Parts by key, a newer one in the place of an older one of the same hash. Does not grow.
template <class Part, std::size_t kSlots>
class Table {
 public:
  Table() : slots_(kSlots) {}
  Last<Part>& at(const Plan& key) { return slots_[hash(key) % kSlots]; }

 private:
  std::vector<Last<Part>> slots_;
};

}  // namespace

struct PlanEvaluator::Parts {
  struct Layers {
    Estimator::LayerBytes<double> bytes;
    Estimator::LayerTimes<double> times;
    bool timed = false;
  };
  struct Stages {
    std::vector<Estimator::StageBytes<double>> bytes;  // of the stages of the shape
    Estimator::StageTimes<double> times;
    bool timed = false;
  };
  struct State {
    std::vector<Estimator::StageState<double>> stages;  // the same
    Estimator::ReplicaTraffic<double> traffic;
    bool timed = false;
  };
  static constexpr std::size_t kShapes = 256, kStates = 1024;

  explicit Parts(const Estimator& of) : estimator(of) {}

  const Estimator& estimator;
  // Of the plan last asked for.
  Plan plan;
  State* state = nullptr;
  const PipelineShape* shape = nullptr;

  Last<Layers> layers;
  Last<Stages> stages;
  Table<PipelineShape, kShapes> shapes;
  Table<State, kStates> states;

  void turn_to(const Plan& asked) {
    if (state != nullptr && plan == asked) return;
    plan = asked;
    if (stages.turns_to(stage_key(plan))) {
      turn_shape();
      Layers& of_layers = turn_layers();
      stages.part.bytes.clear();
      for (const int stage : shape->stages)
        stages.part.bytes.push_back(estimator.stage_bytes<double>(plan, stage, of_layers.bytes));
      stages.part.timed = false;
    }
    const Plan key = state_key(plan);
    auto& slot = states.at(key);
    state = &slot.part;
    if (!slot.turns_to(key)) return;
    state->stages.clear();
    for (const int stage : shape->stages) state->stages.push_back(estimator.stage_state<double>(plan, stage));
    state->timed = false;
  }
  void turn_shape() {
    const Plan key = pipeline_key(plan);
    auto& slot = shapes.at(key);
    if (slot.turns_to(key)) slot.part = pipeline_shape(estimator.kinds_, plan);
    shape = &slot.part;
  }
  Layers& turn_layers() {
    if (layers.turns_to(layer_key(plan))) {
      estimator.fill_layer_bytes<double>(plan, layers.part.bytes);
      layers.part.timed = false;
    }
    return layers.part;
  }
  void time_stages() {
    if (stages.part.timed) return;
    Layers& of_layers = turn_layers();
    if (!of_layers.timed) {
      estimator.fill_layer_times<double>(plan, of_layers.times);
      of_layers.timed = true;
    }
    estimator.fill_stage_times<double>(plan, *shape, of_layers.times, stages.part.times);
    stages.part.timed = true;
  }
  void time_state() {
    if (state->timed) return;
    state->traffic = estimator.replica_traffic<double>(plan);
    state->timed = true;
  }
};

PlanEvaluator::PlanEvaluator(const Estimator& estimator)
    : estimator_(estimator), parts_(std::make_unique<Parts>(estimator)) {}
PlanEvaluator::~PlanEvaluator() = default;

MemoryBreakdown<> PlanEvaluator::fullest_memory(const Plan& plan, int& stage) {
  parts_->turn_to(plan);
  const std::vector<int>& candidates = parts_->shape->stages;
  // Only what is offloaded depends on single layers once more.
  static const Estimator::LayerBytes<double> kNone;
  const auto& layers = plan.offload != 0 ? parts_->turn_layers().bytes : kNone;
  MemoryBreakdown<> fullest;
  Bytes<> most;
  stage = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MemoryBreakdown<> memory = estimator_.stage_memory<double>(
        plan, candidates[i], layers, parts_->stages.part.bytes[i], parts_->state->stages[i]);
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
  parts_->time_state();
  return estimator_.step_time<double>(plan, parts_->stages.part.times, parts_->state->traffic);
}

}  // namespace shardplan
