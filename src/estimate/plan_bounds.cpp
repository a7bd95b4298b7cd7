// What none of many plans undercuts: PlanEvaluator's bounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "estimate/plan_cache.h"

namespace shardplan {

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
  const auto& stages = parts_->stages.part.times;
  const Plan whole = with_state(plan, parts_->layout.states[state]);
  return step +
         seconds(parts_->replicas_time(whole, parts_->traffic_of(whole), stages.forward, stages.backward));
}

Seconds<> PlanEvaluator::least_replicas(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_counts();
  Parts::TrafficKey key = parts_->heaviest;
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
    const Plan whole_plan = with_state(plan, parts_->layout.states[i]);
    least =
        std::min(least, parts_->replicas_time(whole_plan, parts_->traffic_of(whole_plan), forward, backward));
  }
  slot.part = least;
  return seconds(least);
}

Bytes<> PlanEvaluator::least_memory(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_work();
  return parts_->fullest([&](std::size_t i, const Parts::Counts& own) {
    return parts_->least_state(own.dense, own.expert) + parts_->stages.part.work[i];
  });
}

Bytes<> PlanEvaluator::least_memory(const Plan& plan, std::size_t state) {
  parts_->turn_to(plan);
  parts_->turn_work();
  const Parts::Rates& rates = parts_->layout.rates[state];
  return parts_->fullest([&](std::size_t i, const Parts::Counts& own) {
    return rates.dense * own.dense + rates.expert * own.expert + parts_->stages.part.work[i];
  });
}

Bytes<> PlanEvaluator::least_memory_of_part(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_work();
  return parts_->fullest([&](std::size_t i, const Parts::Counts& own) {
    return parts_->least_state(own.dense, own.expert) + parts_->least_work(i, false);
  });
}

Bytes<> PlanEvaluator::least_memory_of_layers(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_counts();
  const auto& layers = parts_->bytes_of_layers(plan);
  const double group = plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
  return parts_->fullest([&](std::size_t, const Parts::Counts& own) {
    double kept = 0;
    for (std::size_t k = 0; k < own.alive.size(); ++k) kept += own.alive[k] * layers.kinds[k].kept.raw();
    if (parts_->layout.offloads) kept = 0;
    return parts_->least_state(own.dense, own.expert) + own.buffers + kept / group;
  });
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
