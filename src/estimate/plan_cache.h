// What a PlanEvaluator keeps from plan to plan: each part by the axes that decide it. Private to estimate/.
//
// A part's key is the plan with every axis that does not decide the part at its default. What is forgotten
// here shows as a plan judged by another's part: plan_evaluator_test.cpp compares with the estimator, bit for
// bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "estimate/plan_evaluator.h"
#include "estimate/plan_parts.h"
#include "graph/placement.h"

namespace shardplan {

inline Plan pipeline_key(const Plan& plan) {
  Plan key;
  key.pp = plan.pp;
  key.interleave = plan.interleave;
  key.schedule = plan.schedule;
  key.first_layers = plan.first_layers;
  key.last_layers = plan.last_layers;
  return key;
}

/// With the group sizes of another plan and the order of its ranks.
inline Plan with_layout(Plan plan, const Plan& other) {
  plan = with_degrees(plan, other);
  plan.rank_order = other.rank_order;
  return plan;
}

inline Plan stage_key(Plan plan) {
  plan.zero_stage = 0;
  plan.shard_group = 0;
  plan.offload = 0;
  return plan;
}

/// Of a layer nothing of which is run again.
inline Plan layer_key(const Plan& plan) {
  Plan key;
  key.tp = plan.tp;
  key.cp = plan.cp;
  key.ep = plan.ep;
  key.etp = plan.etp;
  key.micro_batch = plan.micro_batch;
  key.sequence_parallel = plan.sequence_parallel;
  return key;
}

inline Plan recomputed_layer_key(const Plan& plan) {
  Plan key = layer_key(plan);
  key.recompute = plan.recompute;
  // Layers are recomputed whole or not at all: how many is the stage's account.
  if (key.recompute.kind == Recompute::Kind::kBlock) key.recompute.layers = 1;
  return key;
}

/// The same with how far apart the ranks of the layer's groups are, as far as it counts: beyond the tiers but
/// the outermost it does not. The axes that are free in the key hold it.
inline Plan timed_layer_key(const Cluster& cluster, const Plan& plan) {
  Plan key = layer_key(plan);
  if (plan.rank_order.usual()) return key;
  const std::int64_t tensor = stride_of(plan, RankAxis::kTp), context = stride_of(plan, RankAxis::kCp),
                     expert = expert_group(plan).stride;
  if (tensor == 1 && context == plan.tp && expert == plan.etp) return key;
  std::int64_t largest = 1;
  for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i)
    largest = std::max(largest, cluster.tiers[i].size);
  const auto counts = [&](std::int64_t stride) {
    return static_cast<std::int32_t>(std::min(stride, largest));
  };
  key.rank_order.index = 1;
  key.dp = counts(tensor);
  key.pp = counts(context);
  key.grad_accumulation = counts(expert);
  return key;
}

inline Plan sends_key(const Plan& plan) {
  Plan key = layer_key(plan);
  key.pp = plan.pp;
  key.dp = plan.dp;
  key.rank_order = plan.rank_order;
  return key;
}

inline Plan state_key(Plan plan) {
  plan.micro_batch = plan.grad_accumulation = 1;
  plan.recompute = Recompute::kNone;
  plan.micro_batch_group = 0;
  plan.sequence_parallel = false;
  plan.rank_order = {};
  return plan;
}

inline std::size_t hash(const Plan& p) {
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
  pair(p.recompute.modules + (p.rank_order.index << 8), p.recompute.layers);
  pair(p.dp, p.grad_accumulation);
  return static_cast<std::size_t>(sum);
}

/// The part of the last plan asked for, and of the next as long as its key is the same.
template <class Part, class Key = Plan>
struct Last {
  Key key;
  std::uint32_t turns = 0;  // how often it was made
  Part part;
  /// Whether `part` has to be made for `now`.
  bool turns_to(const Key& now) {
    if (turns > 0 && key == now) return false;
    key = now;
    return ++turns > 0;
  }
};

/// Where a part is, as long as it is not made anew.
template <class Slot>
struct Held {
  Slot* slot = nullptr;
  std::uint32_t turns = 0;
  bool stays() const { return slot != nullptr && slot->turns == turns; }
  void hold(Slot& held) {
    slot = &held;
    turns = held.turns;
  }
};

/// Parts by key, a newer one in the place of an older one of the same hash. Does not grow.
template <class Part, std::size_t kSlots, class Key = Plan>
class Table {
 public:
  Table() : slots_(kSlots) {}
  Last<Part, Key>& at(const Key& key) { return slots_[hash(key) & (kSlots - 1)]; }

 private:
  std::vector<Last<Part, Key>> slots_;
};

struct PlanEvaluator::Parts {
  struct Stages {
    std::vector<Estimator::StageBytes<double>> bytes;  // of the stages of the shape
    std::vector<double> work;                          // what they hold beside their state, at the least
    Estimator::StageTimes<double> times;
    bool sized = false, timed = false;
  };
  using StageStates = std::vector<Estimator::StageState<double>>;  // of the stages of the shape
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
  /// What replicas send is decided by the layout, how its state is shared, and what is on the heaviest stage.
  struct TrafficKey {
    Plan plan;
    Estimator::StageLoad load;
    bool operator==(const TrafficKey&) const = default;
    friend std::size_t hash(const TrafficKey& key) {
      return hash(key.plan) ^ std::hash<double>()(key.load.trained_dense) ^
             std::hash<double>()(key.load.trained_expert);
    }
  };
  using Traffic = Last<Estimator::ReplicaTraffic<double>, TrafficKey>;
  /// What plans in one state share.
  struct OfState {
    Plan state;  // nothing else of it is read
    Held<Last<StageStates>> bytes = {};
    Held<Traffic> traffic = {};
  };
  struct Layout {
    Plan of;
    std::vector<Plan> states;
    std::vector<Rates> rates;  // of each
    std::vector<Rates> least;  // those of them that no other undercuts
    bool offloads = false;
  };
  // Larger tables are given back to the system after each search, and their pages asked for again; what
  // replicas send is worth it, as every state of a layout asks for several loads.
  static constexpr std::size_t kShapes = 1024, kStates = 1024, kLayers = 1024, kTraffic = 4096, kLeast = 2048,
                               kKindsSorted = 32;

  explicit Parts(const Estimator& of) : estimator(of) {}

  const Estimator& estimator;
  // Of the plan last asked for.
  Plan plan;
  const PipelineShape* shape = nullptr;

  Table<Estimator::LayerTimes<double>, kLayers> layer_kernels, layer_times;
  Table<Estimator::LayerBytes<double>, kLayers> layer_bytes;
  Last<Estimator::StageSends<double>> sends;
  Last<Stages> stages;
  Table<Estimator::ReplicaTraffic<double>, kTraffic, TrafficKey> traffics;
  Table<double, kLeast, TrafficKey> least_replicas;
  Last<std::vector<Counts>> counts;
  bool counted = false;            // for the plan's stages
  std::vector<OfState> of_states;  // of plans with these counts
  std::size_t last_state = 0;      // of them
  TrafficKey heaviest;             // of the plan with these counts, in no state
  TrafficKey least_sent;           // the same with a load rounded down, for bounds
  Layout layout;
  TimeBreakdown<> data;                 // scratch
  Last<std::vector<double>> in_flight;  // by stage
  Table<PipelineShape, kShapes> shapes;
  Table<StageStates, kStates> states;

  void turn_to(const Plan& asked) {
    const bool stays = shape != nullptr && with_state(plan, asked) == asked;
    plan = asked;
    if (stays) return;
    if (stages.turns_to(stage_key(plan))) {
      counted = false;
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
  /// States are asked for in turn: the one after the last is tried first.
  OfState& of_state(const Plan& whole) {
    turn_counts();
    const std::size_t all = of_states.size();
    for (std::size_t i = 0; i < all; ++i, ++last_state) {
      if (last_state >= all) last_state = 0;
      if (same_state(of_states[last_state].state, whole)) return of_states[last_state];
    }
    last_state = all;
    return of_states.emplace_back(OfState{.state = whole});
  }
  const StageStates& state_of(const Plan& whole) {
    OfState& own = of_state(whole);
    if (own.bytes.stays()) return own.bytes.slot->part;
    const Plan key = state_key(whole);
    auto& slot = states.at(key);
    if (slot.turns_to(key)) {
      slot.part.clear();
      for (const int stage : shape->stages) slot.part.push_back(estimator.stage_state<double>(whole, stage));
    }
    own.bytes.hold(slot);
    return slot.part;
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
  const Estimator::LayerTimes<double>& layer_kernels_of(const Plan& asked) {
    const Plan key = layer_key(asked);
    auto& slot = layer_kernels.at(key);
    if (slot.turns_to(key)) estimator.fill_layer_kernels<double>(asked, slot.part);
    return slot.part;
  }
  const Estimator::LayerTimes<double>& times_of_layers(const Plan& asked) {
    const Plan key = timed_layer_key(estimator.question_.cluster, asked);
    auto& slot = layer_times.at(key);
    if (slot.turns_to(key)) {
      // Without the axes, which the groups fill.
      const Estimator::LayerTimes<double>& kernels = layer_kernels_of(asked);
      slot.part.kinds = kernels.kinds;
      slot.part.head_forward = kernels.head_forward;
      slot.part.head_backward = kernels.head_backward;
      slot.part.head_weight = kernels.head_weight;
      estimator.add_layer_groups<double>(asked, slot.part);
    }
    return slot.part;
  }
  static Plan counts_key(const Plan& asked) {
    Plan key = with_layout(pipeline_key(asked), asked);
    key.grad_accumulation = asked.grad_accumulation;
    return key;
  }
  /// For a plan of which nothing else is asked.
  void turn_counts_of(const Plan& asked) {
    if (counts.turns > 0 && counts.key == counts_key(asked)) return;
    turn_to(asked);
    turn_counts();
  }
  void turn_counts() {
    if (counted) return;
    counted = true;
    const Plan key = counts_key(plan);
    if (!counts.turns_to(key)) return;
    of_states.clear();
    counts.part.resize(shape->stages.size());
    for (std::size_t i = 0; i < shape->stages.size(); ++i) {
      const int stage = shape->stages[i];
      Counts& own = counts.part[i];
      estimator.live_layers(plan, stage, own.alive);
      const Estimator::StageLoad load = estimator.stage_load(plan, stage);
      if (i == 0 || load.heavier_than(heaviest.load)) heaviest.load = load;
      own.dense = load.trained_dense;
      own.expert = load.trained_expert;
      if (estimator.question_.activations == ActivationModel::kOps)
        own.buffers = estimator.stage_buffers<double>(plan, stage).raw();
    }
    heaviest.plan = key;
    heaviest.plan.grad_accumulation = 1;
    // Of the pipeline nothing else counts but whether a stage has a twin.
    heaviest.plan.interleave = 1;
    heaviest.plan.first_layers = heaviest.plan.last_layers = Plan::kEven;
    if (plan.schedule != Schedule::kDualPipe) heaviest.plan.schedule = Schedule::k1F1B;
    least_sent = {heaviest.plan, heaviest.load.rounded_down()};
  }
  const Estimator::ReplicaTraffic<double>& traffic_of(const Plan& whole) {
    OfState& own = of_state(whole);
    if (own.traffic.stays()) return own.traffic.slot->part;
    const TrafficKey key{with_state(heaviest.plan, whole), heaviest.load};
    const auto& sent = traffic_of(key);
    own.traffic.hold(traffics.at(key));
    return sent;
  }
  const Estimator::ReplicaTraffic<double>& traffic_of(const TrafficKey& key) {
    Traffic& slot = traffics.at(key);
    if (slot.turns_to(key)) slot.part = estimator.replica_traffic<double>(key.plan, key.load);
    return slot.part;
  }
  /// What the step of a state takes beyond that of its stages, at the least.
  double replicas_time(const Plan& whole, const Estimator::ReplicaTraffic<double>& sent, Seconds<> forward,
                       Seconds<> backward) {
    double sum = sent.optimizer.raw();
    if (whole.replicas() <= 1) return sum;
    data[TimeTerm::kData] = {};
    estimator.add_data_parallel<double>(whole, sent, forward, backward, data);
    return sum + data[TimeTerm::kData].exposed().raw();
  }
  void turn_layout(const Plan& of, const std::vector<Plan>& of_layout) {
    layout.of = of;
    layout.states = of_layout;
    layout.rates.clear();
    layout.least.clear();
    layout.offloads =
        std::any_of(of_layout.begin(), of_layout.end(), [](const Plan& own) { return own.offload != 0; });
  }
  /// The layout with the rates of its states, which are worked out when they are first asked for.
  const Layout& rated() {
    if (!layout.rates.empty()) return layout;
    for (const Plan& own : layout.states) {
      Rates rates;
      if (own.offload == 0) {
        const auto of_one = [&](double dense, double expert) {
          MemoryBreakdown<> memory;
          estimator.add_state<double>(with_state(layout.of, own), ratio(dense), ratio(expert), memory);
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
    return layout;
  }
  /// The least state of so many parameters.
  double least_state(double dense, double expert) {
    double least = std::numeric_limits<double>::infinity();
    for (const Rates& rates : rated().least)
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
  /// The most that a stage of the shape holds, by its index and counts.
  template <class Of>
  Bytes<> fullest(const Of& of_stage) const {
    double most = 0;
    for (std::size_t i = 0; i < counts.part.size(); ++i) most = std::max(most, of_stage(i, counts.part[i]));
    return bytes(most);
  }
  /// Micro-batches of which a layer on each stage keeps something, at the least.
  const std::vector<double>& least_in_flight(const Plan& asked) {
    Plan key = pipeline_key(asked);
    key.grad_accumulation = asked.grad_accumulation;
    key.micro_batch_group = asked.micro_batch_group;
    if (in_flight.turns_to(key)) {
      in_flight.part.clear();
      for (int stage = 0; stage < asked.pp; ++stage) in_flight.part.push_back(least_in_flight(asked, stage));
    }
    return in_flight.part;
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
  /// Sums over the stages of a pipeline, each by its weight, that do not depend on how layers are dealt.
  struct Spread {
    double weights = 0;  // 1/bytes
    double layers = 0;   // state, and what is kept
    double beside = 0;   // what there is beside layers
    double again = 0;    // what one layer less keeps at the most
  };
  Spread spread(const Plan& asked, std::int32_t fewest);
  struct Beside {
    double first = 0, other = 0, last = 0;  // bytes, of stages
  };
  Beside least_beside(const Plan& asked, std::int32_t fewest, const Estimator::LayerBytes<double>& layers);
  Estimator::StageLoad least_load(const Plan& asked) const;
  /// PlanEvaluator::least_replicas of what the key's stage has.
  Seconds<> least_replicas_of(const Plan& asked, TrafficKey key);
  const Estimator::StageSends<double>& sends_of(const Plan& asked) {
    if (sends.turns_to(sends_key(asked))) sends.part = estimator.stage_sends<double>(asked);
    return sends.part;
  }
  void time_stages() {
    if (stages.part.timed) return;
    estimator.fill_stage_times<double>(plan, *shape, times_of_layers(plan), sends_of(plan),
                                       stages.part.times);
    stages.part.timed = true;
  }
};

}  // namespace shardplan
