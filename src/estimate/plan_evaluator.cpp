#include "estimate/plan_evaluator.h"

#include <algorithm>
#include <array>
#include <limits>

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
  // Layers are recomputed whole or not at all: how many is the stage's account.
  if (key.recompute.kind == Recompute::Kind::kBlock) key.recompute.layers = 1;
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
  pair(p.micro_batch, static_cast<std::int64_t>(p.recompute.kind));
  pair(p.recompute.modules, p.recompute.layers);
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
    bool sized = false, timed = false;
  };
  struct Stages {
    std::vector<Estimator::StageBytes<double>> bytes;  // of the stages of the shape
    Estimator::StageTimes<double> times;
    bool sized = false, timed = false;
  };
  struct State {
    std::vector<Estimator::StageState<double>> stages;  // the same
    Estimator::ReplicaTraffic<double> traffic;
    bool timed = false;
  };
  static constexpr std::size_t kShapes = 256, kStates = 1024, kLayers = 128;

  explicit Parts(const Estimator& of) : estimator(of) {}

  const Estimator& estimator;
  // Of the plan last asked for.
  Plan plan;
  State* state = nullptr;
  const PipelineShape* shape = nullptr;

  Table<Layers, kLayers> layers;
  Last<Stages> stages;
  Last<std::vector<Bytes<>>> least_states;  // by stage of the shape
  Table<PipelineShape, kShapes> shapes;
  Table<State, kStates> states;

  void turn_to(const Plan& asked) {
    if (shape != nullptr && plan == asked) return;
    plan = asked;
    state = nullptr;
    if (stages.turns_to(stage_key(plan))) {
      turn_shape();
      stages.part.sized = stages.part.timed = false;
    }
  }
  void size_stages() {
    if (stages.part.sized) return;
    const Estimator::LayerBytes<double>& of_layers = layer_bytes(plan);
    stages.part.bytes.clear();
    for (const int stage : shape->stages)
      stages.part.bytes.push_back(estimator.stage_bytes<double>(plan, stage, of_layers));
    stages.part.sized = true;
  }
  void turn_state() {
    if (state != nullptr) return;
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
  Layers& layers_of(const Plan& asked) {
    const Plan key = layer_key(asked);
    auto& slot = layers.at(key);
    if (slot.turns_to(key)) slot.part.sized = slot.part.timed = false;
    return slot.part;
  }
  const Estimator::LayerBytes<double>& layer_bytes(const Plan& asked) {
    Layers& part = layers_of(asked);
    if (!part.sized) estimator.fill_layer_bytes<double>(asked, part.bytes);
    part.sized = true;
    return part.bytes;
  }
  const Estimator::LayerTimes<double>& layer_times(const Plan& asked) {
    Layers& part = layers_of(asked);
    if (!part.timed) estimator.fill_layer_times<double>(asked, part.times);
    part.timed = true;
    return part.times;
  }
  /// What a stage keeps whatever the micro-batch; of an offloading plan it is not known here.
  Bytes<> kept_by(std::size_t stage) const {
    const auto& own = state->stages[stage];
    return plan.offload != 0 ? Bytes<>(0.0) : own.state.total() + own.buffers;
  }
  const std::vector<Bytes<>>& least_states_of(const std::vector<Plan>& all) {
    Plan key = state_key(plan);
    key.zero_stage = 0;
    key.shard_group = 0;
    key.offload = 0;
    if (!least_states.turns_to(key)) return least_states.part;
    std::vector<Bytes<>>& least = least_states.part;
    least.clear();
    for (const Plan& own : all) {
      turn_to(with_state(plan, own));
      turn_state();
      least.resize(state->stages.size(), Bytes<>(std::numeric_limits<double>::infinity()));
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], kept_by(i));
    }
    return least;
  }
  void time_stages() {
    if (stages.part.timed) return;
    const Estimator::LayerTimes<double>& of_layers = layer_times(plan);
    estimator.fill_stage_times<double>(plan, *shape, of_layers, stages.part.times);
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
  parts_->size_stages();
  parts_->turn_state();
  const std::vector<int>& candidates = parts_->shape->stages;
  // Only what is offloaded depends on single layers once more.
  static const Estimator::LayerBytes<double> kNone;
  const auto& layers = plan.offload != 0 ? parts_->layer_bytes(plan) : kNone;
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
  parts_->turn_state();
  parts_->time_state();
  return estimator_.step_time<double>(plan, parts_->stages.part.times, parts_->state->traffic);
}

Seconds<> PlanEvaluator::least_step_of_micro_batch(const Plan& plan) {
  Plan kept = plan;
  kept.recompute = Recompute::kNone;
  return estimator_.least_step(kept, parts_->layer_times(kept));
}

Seconds<> PlanEvaluator::least_step(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->time_stages();
  return parts_->stages.part.times.time.total();
}

Bytes<> PlanEvaluator::least_memory(const Plan& plan, const std::vector<Plan>& states) {
  parts_->turn_to(plan);
  const std::vector<Bytes<>>& least = parts_->least_states_of(states);
  parts_->size_stages();
  const bool leaves = std::any_of(states.begin(), states.end(), [](const Plan& p) { return p.offload != 0; });
  Bytes<> most(0.0);
  for (std::size_t i = 0; i < least.size(); ++i) {
    const auto& work = parts_->stages.part.bytes[i];
    const Bytes<> kept = leaves ? Bytes<>(0.0) : work.activations + work.logits;
    most = std::max(most, least[i] + kept + work.deferred + work.backward + work.buffers);
  }
  return most;
}

Bytes<> PlanEvaluator::least_memory_of_state(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_state();
  Bytes<> most(0.0);
  for (std::size_t i = 0; i < parts_->state->stages.size(); ++i) most = std::max(most, parts_->kept_by(i));
  return most;
}

}  // namespace shardplan
