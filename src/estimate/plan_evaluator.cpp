#include "estimate/plan_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

/// Of a layer nothing of which is run again.
Plan layer_key(const Plan& plan) {
  Plan key;
  key.tp = plan.tp;
  key.cp = plan.cp;
  key.ep = plan.ep;
  key.etp = plan.etp;
  key.micro_batch = plan.micro_batch;
  key.sequence_parallel = plan.sequence_parallel;
  return key;
}

Plan recomputed_layer_key(const Plan& plan) {
  Plan key = layer_key(plan);
  key.recompute = plan.recompute;
  // Layers are recomputed whole or not at all: how many is the stage's account.
  if (key.recompute.kind == Recompute::Kind::kBlock) key.recompute.layers = 1;
  return key;
}

Plan sends_key(const Plan& plan) {
  Plan key = layer_key(plan);
  key.pp = plan.pp;
  key.dp = plan.dp;
  return key;
}

Plan state_key(Plan plan) {
  plan.micro_batch = plan.grad_accumulation = 1;
  plan.recompute = Recompute::kNone;
  plan.micro_batch_group = 0;
  plan.sequence_parallel = false;
  return plan;
}

/// What replicas send is decided by the layout, how its state is shared, and what is on the first stage.
struct TrafficKey {
  Plan plan;
  double dense = 0, expert = 0, trained_dense = 0, trained_expert = 0;
  bool operator==(const TrafficKey&) const = default;
};

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
  pair(p.first_layers, p.last_layers + (p.sequence_parallel ? 1 << 20 : 0));
  pair(p.micro_batch, static_cast<std::int64_t>(p.recompute.kind));
  pair(p.recompute.modules, p.recompute.layers);
  return static_cast<std::size_t>(sum);
}

std::size_t hash(const TrafficKey& key) {
  return hash(key.plan) ^ std::hash<double>()(key.dense) ^ std::hash<double>()(key.expert);
}

/// The part of the last plan asked for, and of the next as long as its key is the same.
template <class Part, class Key = Plan>
struct Last {
  Key key;
  bool filled = false;
  Part part;
  /// Whether `part` has to be made for `now`.
  bool turns_to(const Key& now) {
    if (filled && key == now) return false;
    key = now;
    return filled = true;
  }
};

/// Parts by key, a newer one in the place of an older one of the same hash. Does not grow.
template <class Part, std::size_t kSlots, class Key = Plan>
class Table {
 public:
  Table() : slots_(kSlots) {}
  Last<Part, Key>& at(const Key& key) { return slots_[hash(key) % kSlots]; }

 private:
  std::vector<Last<Part, Key>> slots_;
};

}  // namespace

struct PlanEvaluator::Parts {
  struct Stages {
    std::vector<Estimator::StageBytes<double>> bytes;  // of the stages of the shape
    std::vector<double> work;                          // what they hold beside their state, at the least
    Estimator::StageTimes<double> times;
    bool sized = false, timed = false;
  };
  using State = std::vector<Estimator::StageState<double>>;  // of the stages of the shape
  /// What one trained parameter takes in a state, at the least; none of it where it is offloaded.
  struct Rates {
    double dense = 0, expert = 0;
  };
  /// Parameters of the stages of the shape, and buffers that any state has.
  struct Counts {
    double dense = 0, expert = 0;  // trained
    double buffers = 0;
    std::vector<double> alive;  // layers of each kind times the micro-batches in flight
  };
  struct Layout {
    std::vector<Plan> states;
    std::vector<Rates> rates;  // of each
    std::vector<Rates> least;  // those of them that no other undercuts
    bool offloads = false;
  };
  static constexpr std::size_t kShapes = 1024, kStates = 1024, kLayers = 4096, kTraffic = 512,
                               kKindsSorted = 32;

  explicit Parts(const Estimator& of) : estimator(of) {}

  const Estimator& estimator;
  // Of the plan last asked for.
  Plan plan;
  State* state = nullptr;
  const PipelineShape* shape = nullptr;

  Table<Estimator::LayerTimes<double>, kLayers> layer_times;
  Table<Estimator::LayerBytes<double>, kLayers> layer_bytes;
  Last<Estimator::StageSends<double>> sends;
  Last<Stages> stages;
  /// Of the states of the layout, as far as they were asked for.
  using Traffics = std::vector<std::optional<Estimator::ReplicaTraffic<double>>>;
  Table<Traffics, kTraffic, TrafficKey> traffics;
  Traffics* traffic = nullptr;  // of the plan
  Table<double, kTraffic, TrafficKey> least_replicas;
  Last<std::vector<Counts>> counts;
  TrafficKey first_stage;                       // of the plan with these counts
  Estimator::LayerBytes<double> one_of_a_kind;  // scratch
  Layout layout;
  TimeBreakdown<> data;           // scratch
  std::vector<double> in_flight;  // by stage, scratch
  Table<PipelineShape, kShapes> shapes;
  Table<State, kStates> states;
  Table<Estimator::ReplicaTraffic<double>, kStates> exact_traffics;

  void turn_to(const Plan& asked) {
    if (shape != nullptr && plan == asked) return;
    plan = asked;
    state = nullptr;
    if (stages.turns_to(stage_key(plan))) {
      turn_shape();
      stages.part.sized = stages.part.timed = false;
      stages.part.work.clear();
    }
  }
  void size_stages() {
    if (stages.part.sized) return;
    const Estimator::LayerBytes<double>& of_layers = bytes_of_layers(plan);
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
    state->clear();
    for (const int stage : shape->stages) state->push_back(estimator.stage_state<double>(plan, stage));
  }
  void turn_shape() {
    const Plan key = pipeline_key(plan);
    auto& slot = shapes.at(key);
    if (slot.turns_to(key)) slot.part = pipeline_shape(estimator.kinds_, plan);
    shape = &slot.part;
  }
  const Estimator::LayerBytes<double>& bytes_of_layers(const Plan& asked) {
    const Plan key = recomputed_layer_key(asked);
    auto& slot = layer_bytes.at(key);
    if (slot.turns_to(key)) estimator.fill_layer_bytes<double>(asked, slot.part);
    return slot.part;
  }
  const Estimator::LayerTimes<double>& times_of_layers(const Plan& asked) {
    const Plan key = layer_key(asked);
    auto& slot = layer_times.at(key);
    if (slot.turns_to(key)) estimator.fill_layer_times<double>(asked, slot.part);
    return slot.part;
  }
  void turn_counts() {
    Plan key = pipeline_key(plan);
    key.dp = plan.dp;
    key.tp = plan.tp;
    key.cp = plan.cp;
    key.ep = plan.ep;
    key.etp = plan.etp;
    key.grad_accumulation = plan.grad_accumulation;
    if (!counts.turns_to(key)) return;
    counts.part.resize(shape->stages.size());
    Plan kept = plan;
    kept.recompute = Recompute::kNone;
    for (std::size_t i = 0; i < shape->stages.size(); ++i) {
      const int stage = shape->stages[i];
      Counts& own = counts.part[i];
      own.alive.clear();
      one_of_a_kind.kinds.assign(estimator.kinds_.kinds.size(), {});
      for (auto& kind : one_of_a_kind.kinds) {
        kind.kept = bytes(1);
        own.alive.push_back(estimator.live_activations<double>(kept, stage, one_of_a_kind).raw());
        kind.kept = bytes(0);
      }
      own.dense = estimator.trained_parameters(plan, stage, own.expert);
      if (estimator.question_.activations == ActivationModel::kOps)
        own.buffers = estimator.stage_buffers<double>(plan, stage).raw();
    }
    key.grad_accumulation = 1;
    first_stage = {key, 0, 0, counts.part.front().dense, counts.part.front().expert};
    first_stage.dense = estimator.stage_parameters(plan, 0, first_stage.expert);
    // Of the pipeline nothing else counts but whether a stage has a twin.
    first_stage.plan.interleave = 1;
    first_stage.plan.first_layers = first_stage.plan.last_layers = Plan::kEven;
    if (plan.schedule != Schedule::kDualPipe) first_stage.plan.schedule = Schedule::k1F1B;
    auto& slot = traffics.at(first_stage);
    if (slot.turns_to(first_stage)) slot.part.clear();
    traffic = &slot.part;
    traffic->resize(layout.states.size());
  }
  const Estimator::ReplicaTraffic<double>& traffic_of(std::size_t own) {
    auto& known = (*traffic)[own];
    if (!known) known = estimator.replica_traffic<double>(with_state(plan, layout.states[own]));
    return *known;
  }
  /// What the step of a state takes beyond that of its stages, at the least.
  double replicas_time(const Plan& whole, const Estimator::ReplicaTraffic<double>& sent, Seconds<> forward,
                       Seconds<> backward) {
    double sum = sent.optimizer.raw();
    if (dense_replicas(whole).count <= 1) return sum;
    data[TimeTerm::kData] = {};
    estimator.add_data_parallel<double>(whole, sent, forward, backward, data);
    return sum + data[TimeTerm::kData].exposed().raw();
  }
  void turn_layout(const Plan& of, const std::vector<Plan>& of_layout) {
    layout = {of_layout, {}, {}, false};
    for (const Plan& own : of_layout) {
      Rates rates;
      layout.offloads = layout.offloads || own.offload != 0;
      if (own.offload == 0) {
        const auto of_one = [&](double dense, double expert) {
          MemoryBreakdown<> memory;
          estimator.add_state<double>(with_state(of, own), ratio(dense), ratio(expert), memory);
          return memory.state().raw();
        };
        rates = {of_one(1, 0), of_one(0, 1)};
      }
      layout.rates.push_back(rates);
    }
    const auto undercuts = [](const Rates& a, const Rates& b) {
      return a.dense <= b.dense && a.expert <= b.expert && (a.dense < b.dense || a.expert < b.expert);
    };
    for (const Rates& rates : layout.rates) {
      const auto equal = [&](const Rates& a) { return a.dense == rates.dense && a.expert == rates.expert; };
      const bool beaten = std::any_of(layout.rates.begin(), layout.rates.end(),
                                      [&](const Rates& other) { return undercuts(other, rates); }) ||
                          std::any_of(layout.least.begin(), layout.least.end(), equal);
      if (!beaten) layout.least.push_back(rates);
    }
  }
  /// The least state of so many parameters.
  double least_state(double dense, double expert) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Rates& rates : layout.least)
      least = std::min(least, rates.dense * dense + rates.expert * expert);
    return least;
  }
  /// What a stage of the shape holds beside its state, at the least.
  double least_work(std::size_t stage, bool runs_backward) const {
    const auto& work = stages.part.bytes[stage];
    double sum = work.deferred.raw() + work.buffers.raw() + counts.part[stage].buffers;
    if (!layout.offloads) sum += work.activations.raw() + work.logits.raw();
    return runs_backward ? sum + work.backward.raw() : sum;
  }
  void turn_work() {
    size_stages();
    turn_counts();
    std::vector<double>& work = stages.part.work;
    if (!work.empty()) return;
    for (std::size_t i = 0; i < counts.part.size(); ++i) work.push_back(least_work(i, true));
  }
  /// Micro-batches of which a layer on the stage keeps something, at the least.
  double least_in_flight(const Plan& asked, int stage) const {
    const auto alive = [&](int piece) {
      return value_of(estimator.chunks_alive<double>(asked, stage, piece));
    };
    if (asked.schedule == Schedule::kZbV || asked.schedule == Schedule::kDualPipe)
      return std::min(alive(0), alive(1));
    // Chunks take turns: the last one of the rank has had fewest.
    const double all = alive(-1), group = static_cast<double>(micro_batch_group(asked)),
                 turns = asked.interleave;
    const double rounds = std::floor(all / (group * turns));
    return rounds * group + std::clamp(all - rounds * group * turns - (turns - 1) * group, 0.0, group);
  }
  void time_stages() {
    if (stages.part.timed) return;
    if (sends.turns_to(sends_key(plan))) sends.part = estimator.stage_sends<double>(plan);
    estimator.fill_stage_times<double>(plan, *shape, times_of_layers(plan), sends.part, stages.part.times);
    stages.part.timed = true;
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
  const auto& layers = plan.offload != 0 ? parts_->bytes_of_layers(plan) : kNone;
  MemoryBreakdown<> fullest;
  Bytes<> most;
  stage = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MemoryBreakdown<> memory = estimator_.stage_memory<double>(
        plan, candidates[i], layers, parts_->stages.part.bytes[i], (*parts_->state)[i]);
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
  const Plan key = state_key(plan);
  auto& traffic = parts_->exact_traffics.at(key);
  if (traffic.turns_to(key)) traffic.part = estimator_.replica_traffic<double>(plan);
  return estimator_.step_time<double>(plan, parts_->stages.part.times, traffic.part);
}

void PlanEvaluator::turn_to_layout(const Plan& layout, const std::vector<Plan>& states) {
  parts_->turn_layout(layout, states);
}

Seconds<> PlanEvaluator::least_step_of_micro_batch(const Plan& plan) {
  Plan kept = plan;
  kept.recompute = Recompute::kNone;
  return least_step_of_layers(kept);
}

Seconds<> PlanEvaluator::least_step_of_layers(const Plan& plan) {
  return estimator_.least_step(plan, parts_->times_of_layers(plan));
}

void PlanEvaluator::least_layers(const Plan& plan, std::vector<double>& seconds) {
  const auto& times = parts_->times_of_layers(plan);
  const bool whole = plan.recompute.kind != Recompute::Kind::kBlock;
  const auto& kinds = estimator_.kinds_;
  const auto all = static_cast<std::int64_t>(kinds.kind_of_layer.size());
  std::array<std::pair<double, std::int64_t>, Parts::kKindsSorted> sorted;
  const std::size_t count = times.kinds.size();
  seconds.assign(static_cast<std::size_t>(all) + 1, 0.0);
  if (count > sorted.size()) return;
  for (std::size_t k = 0; k < count; ++k) {
    const auto& layer = times.kinds[k];
    const Seconds<> again =
        whole ? estimator_.recompute_time<double>(plan, kinds.kinds[k], layer) : Seconds<>(0.0);
    sorted[k] = {(layer.total() + again).raw(), kinds.count(k, 0, all)};
  }
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  std::size_t at = 0;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::int64_t i = 0; i < sorted[k].second; ++i, ++at) seconds[at + 1] = seconds[at] + sorted[k].first;
  }
}

Seconds<> PlanEvaluator::least_recompute(const Plan& plan) {
  Plan whole = plan;
  whole.recompute = Recompute::kFull;
  double least = std::numeric_limits<double>::infinity();
  const auto& times = parts_->times_of_layers(plan);
  for (std::size_t k = 0; k < times.kinds.size(); ++k)
    least = std::min(
        least, estimator_.recompute_time<double>(whole, estimator_.kinds_.kinds[k], times.kinds[k]).raw());
  return seconds(least);
}

Seconds<> PlanEvaluator::least_step(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->time_stages();
  return parts_->stages.part.times.time.total();
}

Seconds<> PlanEvaluator::least_step(const Plan& plan, std::size_t state) {
  const Seconds<> step = least_step(plan);
  parts_->turn_counts();
  const auto& stages = parts_->stages.part.times;
  return step + seconds(parts_->replicas_time(with_state(plan, parts_->layout.states[state]),
                                              parts_->traffic_of(state), stages.forward, stages.backward));
}

Seconds<> PlanEvaluator::least_replicas(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_counts();
  TrafficKey key = parts_->first_stage;
  key.plan.micro_batch = plan.micro_batch;
  key.plan.grad_accumulation = plan.grad_accumulation;
  key.plan.sequence_parallel = plan.sequence_parallel;
  auto& slot = parts_->least_replicas.at(key);
  if (!slot.turns_to(key)) return seconds(slot.part);
  // Traffic hides best under the longest passes: those that run everything again.
  Plan whole = plan;
  whole.recompute = Recompute::kFull;
  const auto& times = parts_->times_of_layers(plan);
  const auto all = static_cast<std::int64_t>(estimator_.kinds_.kind_of_layer.size());
  Seconds<> forward(0.0), backward(0.0);
  for (std::size_t k = 0; k < times.kinds.size(); ++k) {
    const auto& layer = times.kinds[k];
    const Seconds<> again = estimator_.recompute_time<double>(whole, estimator_.kinds_.kinds[k], layer);
    const double share =
        static_cast<double>(estimator_.kinds_.count(k, 0, all) + estimator_.prediction_layers(k)) / plan.pp;
    forward += share * layer.forward();
    backward += share * (layer.backward() + again);
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < parts_->layout.states.size(); ++i) {
    const Plan state = with_state(plan, parts_->layout.states[i]);
    least = std::min(least, parts_->replicas_time(state, parts_->traffic_of(i), forward, backward));
  }
  slot.part = least;
  return seconds(least);
}

Bytes<> PlanEvaluator::least_memory(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_work();
  double most = 0;
  for (std::size_t i = 0; i < parts_->counts.part.size(); ++i) {
    const auto& own = parts_->counts.part[i];
    most = std::max(most, parts_->least_state(own.dense, own.expert) + parts_->stages.part.work[i]);
  }
  return bytes(most);
}

Bytes<> PlanEvaluator::least_memory_of_layers(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_counts();
  const auto& layers = parts_->bytes_of_layers(plan);
  const double group = plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
  double most = 0;
  for (const Parts::Counts& own : parts_->counts.part) {
    double kept = 0;
    for (std::size_t k = 0; k < own.alive.size(); ++k) kept += own.alive[k] * layers.kinds[k].kept.raw();
    if (parts_->layout.offloads) kept = 0;
    most = std::max(most, parts_->least_state(own.dense, own.expert) + own.buffers + kept / group);
  }
  return bytes(most);
}

Bytes<> PlanEvaluator::least_memory_of_part(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_work();
  double most = 0;
  for (std::size_t i = 0; i < parts_->counts.part.size(); ++i) {
    const auto& own = parts_->counts.part[i];
    most = std::max(most, parts_->least_state(own.dense, own.expert) + parts_->least_work(i, false));
  }
  return bytes(most);
}

Bytes<> PlanEvaluator::least_memory(const Plan& plan, std::size_t state) {
  parts_->turn_to(plan);
  parts_->turn_work();
  const Parts::Rates& rates = parts_->layout.rates[state];
  double most = 0;
  for (std::size_t i = 0; i < parts_->counts.part.size(); ++i) {
    const auto& own = parts_->counts.part[i];
    most = std::max(most, rates.dense * own.dense + rates.expert * own.expert + parts_->stages.part.work[i]);
  }
  return bytes(most);
}

// Let stage s hold n_s layers, of which one takes a + f_s b: its state and, of each micro-batch in flight,
// what it keeps. The fullest stage holds no less than any weighted mean of the stages, and that of the
// weights 1 / (a + f_s b) is the same however the layers are dealt. Where kinds of layers differ, each is
// taken where it weighs least.
Bytes<> PlanEvaluator::least_memory_of_dealings(const Plan& plan) {
  const auto& layers = parts_->bytes_of_layers(plan);
  const double group = plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
  const auto kept = [&](std::size_t kind) {
    return parts_->layout.offloads ? 0.0 : layers.kinds[kind].kept.raw() / group;
  };
  const auto& kinds = estimator_.kinds_;
  std::array<double, Parts::kKindsSorted> state{};
  const std::size_t count = kinds.kinds.size();
  if (count > state.size()) return bytes(0);
  for (std::size_t k = 0; k < count && !estimator_.frozen(); ++k) {
    const LayerOps& ops = kinds.kinds[k];
    state[k] = parts_->least_state(ops.tensor_parameters / plan.tp + ops.replicated_parameters,
                                   ops.expert_parameters / (static_cast<double>(plan.ep) * plan.etp));
  }
  const auto all = static_cast<std::int64_t>(kinds.kind_of_layer.size());
  std::size_t most = 0;
  for (std::size_t k = 0; k < count; ++k)
    if (kinds.count(k, 0, all) > kinds.count(most, 0, all)) most = k;
  std::vector<double>& in_flight = parts_->in_flight;
  in_flight.clear();
  double weights = 0;
  for (int stage = 0; stage < plan.pp; ++stage) {
    in_flight.push_back(parts_->least_in_flight(plan, stage));
    weights += 1 / (state[most] + in_flight.back() * kept(most));
  }
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    double least = std::numeric_limits<double>::infinity();
    for (const double f : in_flight)
      least = std::min(least, (state[k] + f * kept(k)) / (state[most] + f * kept(most)));
    sum += least * static_cast<double>(kinds.count(k, 0, all));
  }
  const double copies = plan.schedule == Schedule::kDualPipe ? 2 : 1;
  const double fullest = copies * sum / weights;
  return bytes(std::isfinite(fullest) ? fullest : 0.0);
}

}  // namespace shardplan
