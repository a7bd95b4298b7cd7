// What none of many plans undercuts: PlanEvaluator's bounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cost/pipeline.h"
#include "cost/pipeline_path.h"
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

Seconds<> PlanEvaluator::least_step_of_kernels(const Plan& plan) {
  Plan kept = plan;
  kept.recompute = Recompute::kNone;
  return estimator_.least_step(kept, parts_->layer_kernels_of(kept));
}

Seconds<> PlanEvaluator::least_step_of_layers(const Plan& plan) {
  return estimator_.least_step(plan, parts_->times_of_layers(plan));
}

double PlanEvaluator::least_turns(const Plan& plan) {
  return shardplan::least_turns(plan) / plan.grad_accumulation;
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

Seconds<> PlanEvaluator::least_head(const Plan& plan) {
  const auto& times = parts_->times_of_layers(plan);
  Seconds<> head = times.head_forward + times.head_backward;
  for (std::size_t k = 0; k < times.kinds.size(); ++k)
    head += times.kinds[k].total() * ratio(static_cast<double>(estimator_.prediction_layers(k)));
  return head;
}

Seconds<> PlanEvaluator::least_sends(const Plan& plan) {
  if (plan.pp == 1) return seconds(0);
  const auto of = [](std::int64_t count) { return ratio(static_cast<double>(count)); };
  const Seconds<> sends = PipelineSends::eval(
      PipelineSends::In<double>{of(plan.pp), of(all_chunks(plan) / plan.pp), of(plan.grad_accumulation),
                                parts_->sends_of(plan).cost.cost.total()});
  // What they hide behind may be less than the share that could be.
  const auto& hidden = estimator_.question_.framework.timing.sends_hidden.value;
  return plan.interleave > 1 ? sends * (ratio(1) - hidden) : sends;
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
  parts_->turn_counts();
  const auto& sent =
      parts_->traffic_of({with_state(parts_->least_sent.plan, whole), parts_->least_sent.load});
  return step + seconds(parts_->replicas_time(whole, sent, stages.forward, stages.backward));
}

Seconds<> PlanEvaluator::least_replicas(const Plan& plan) {
  parts_->turn_to(plan);
  parts_->turn_counts();
  // Traffic hides best under the longest passes: those that run everything again.
  Plan longest = plan;
  if (plan.recompute.whole_layers()) longest.recompute = Recompute::kFull;
  return parts_->least_replicas_of(longest, parts_->least_sent);
}

Seconds<> PlanEvaluator::least_replicas_of_dealings(const Plan& plan) {
  const Parts::TrafficKey key{with_layout({}, plan), parts_->least_load(plan)};
  Plan longest = plan;
  longest.recompute = Recompute::kFull;
  return parts_->least_replicas_of(longest, key);
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
  const Parts::Rates& rates = parts_->rated().rates[state];
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

Bytes<> PlanEvaluator::least_memory_of_layers(const Plan& plan, const std::vector<double>& held) {
  parts_->turn_counts_of(plan);
  return parts_->fullest([&](std::size_t, const Parts::Counts& own) {
    double kept = 0;
    for (std::size_t k = 0; k < own.alive.size(); ++k) kept += own.alive[k] * held[k];
    if (parts_->layout.offloads) kept = 0;
    return parts_->least_state(own.dense, own.expert) + own.buffers + kept;
  });
}

// Let stage s hold n_s layers, of which one takes a + f_s b: its state and, of each micro-batch in flight,
// what it keeps; and c_s beside layers. The fullest stage holds no less than any weighted mean of the stages,
// and that of the weights w_s = 1 / (a + f_s b) is the same however the layers are dealt. Where kinds of
// layers differ, each is taken where it weighs least. A layer that is run again takes at most f_s b w_s from
// the sum.
PlanEvaluator::Parts::Spread PlanEvaluator::Parts::spread(const Plan& asked, std::int32_t fewest) {
  const auto& layers = bytes_of_layers(asked);
  const double group = asked.recompute.kind == Recompute::Kind::kUniform ? asked.recompute.layers : 1;
  const auto& kinds = estimator.kinds_;
  const std::size_t count = kinds.kinds.size();
  std::array<double, kKindsSorted> state{}, kept{}, least{};
  if (count > state.size()) return {};
  const auto all = static_cast<std::int64_t>(kinds.kind_of_layer.size());
  std::size_t most = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const LayerOps& ops = kinds.kinds[k];
    if (!estimator.frozen()) {
      state[k] = least_state(ops.tensor_parameters / asked.tp + ops.replicated_parameters,
                             ops.expert_parameters / (static_cast<double>(asked.ep) * asked.etp));
    }
    kept[k] = layout.offloads ? 0.0 : layers.kinds[k].kept.raw() / group;
    least[k] = std::numeric_limits<double>::infinity();
    if (kinds.count(k, 0, all) > kinds.count(most, 0, all)) most = k;
  }
  Spread sums;
  const std::vector<double>& alive = least_in_flight(asked);
  const Beside beside = least_beside(asked, fewest, layers);
  for (std::size_t stage = 0; stage < alive.size(); ++stage) {
    const double f = alive[stage], weight = 1 / (state[most] + f * kept[most]);
    sums.weights += weight;
    sums.beside += weight * (stage == 0                  ? beside.first
                             : stage + 1 == alive.size() ? beside.last
                                                         : beside.other);
    for (std::size_t k = 0; k < count; ++k) {
      least[k] = std::min(least[k], (state[k] + f * kept[k]) * weight);
      sums.again = std::max(sums.again, f * kept[k] * weight);
    }
  }
  for (std::size_t k = 0; k < count; ++k)
    sums.layers += least[k] * static_cast<double>(kinds.count(k, 0, all));
  if (asked.schedule == Schedule::kDualPipe) {  // two stages a rank
    sums.layers *= 2;
    sums.again *= 2;
  }
  return sums;
}

/// What stages hold beside layers: buffers, the most that a layer's backward pass or the loss takes, a table
/// at either end. Nothing of a V, whose ends are on one rank.
PlanEvaluator::Parts::Beside PlanEvaluator::Parts::least_beside(const Plan& asked, std::int32_t fewest,
                                                                const Estimator::LayerBytes<double>& layers) {
  if (asked.pp == 1 || asked.schedule == Schedule::kZbV || asked.schedule == Schedule::kDualPipe) return {};
  double table = 0;
  if (!estimator.frozen()) table = least_state(estimator.table_parameters(asked) / asked.tp, 0);
  if (layout.offloads) return {table, 0, table};
  // Of a group that is run again all but its input, which was kept.
  const double group = asked.recompute.kind == Recompute::Kind::kUniform ? asked.recompute.layers : 0,
               inputs = layers.inputs.raw();
  double backward = std::numeric_limits<double>::infinity();
  for (const auto& kind : layers.kinds) {
    const double again = group > 0 ? (kind.again.raw() + inputs) / group * fewest - inputs : 0;
    backward = std::min(backward, kind.backward.raw() + again);
  }
  const double buffers = layers.buffers.raw();
  return {table + buffers + backward, buffers + backward,
          table + buffers + std::max(backward, layers.loss.raw())};
}

Bytes<> PlanEvaluator::least_memory_of_dealings(const Plan& plan, std::int32_t fewest) {
  const Parts::Spread sums = parts_->spread(plan, fewest);
  const double fullest = (sums.layers + sums.beside) / sums.weights;
  return bytes(std::isfinite(fullest) ? fullest : 0.0);
}

void PlanEvaluator::held_by_layers(const Plan& plan, std::vector<double>& bytes) {
  bytes.clear();
  double backward = std::numeric_limits<double>::infinity();
  const double group = plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
  for (const auto& kind : parts_->bytes_of_layers(plan).kinds) {
    bytes.push_back(kind.kept.raw() / group);
    backward = std::min(backward, kind.backward.raw());
  }
  bytes.push_back(backward);
}

double PlanEvaluator::least_layers_again(const Plan& plan, Bytes<> usable) {
  const Parts::Spread sums = parts_->spread(plan, 1);
  const double layers = (sums.layers + sums.beside - usable.raw() * sums.weights) / sums.again;
  return std::isfinite(layers) ? std::max(layers, 0.0) : 0;
}

/// Parameters that the stage which trains most has at the least, however layers are dealt: of all that it
/// trains the average stage's layers, of experts what tables and layers without any leave of that.
Estimator::StageLoad PlanEvaluator::Parts::least_load(const Plan& asked) const {
  Estimator::StageLoad load;
  if (estimator.frozen()) return load;
  const auto& kinds = estimator.kinds_;
  const auto all = static_cast<std::int64_t>(kinds.kind_of_layer.size());
  double sum = 0, dense_layers = 0, without = 0, least_share = 1, largest_share = 0;
  for (std::size_t k = 0; k < kinds.kinds.size(); ++k) {
    const LayerOps& ops = kinds.kinds[k];
    const auto count = static_cast<double>(kinds.count(k, 0, all));
    const double dense = ops.tensor_parameters / asked.tp + ops.replicated_parameters,
                 expert = ops.expert_parameters / (static_cast<double>(asked.ep) * asked.etp);
    sum += count * (dense + expert);
    dense_layers += (count + static_cast<double>(estimator.prediction_layers(k))) * dense;
    if (expert == 0) {
      without += count * dense;
    } else {
      least_share = std::min(least_share, expert / (dense + expert));
      largest_share = std::max(largest_share, expert / (dense + expert));
    }
  }
  load.dense = load.trained_dense = (1 - largest_share) * sum / asked.pp;
  if (largest_share == 0) return load;
  // Of one stage at the most: what the model has beside layers, and a copy of its table.
  double experts = 0;
  without += estimator.stage_parameters(layer_key(asked), 0, experts) - dense_layers +
             estimator.table_parameters(asked) / asked.tp;
  load.expert = load.trained_expert = least_share * std::max(0.0, sum / asked.pp - without);
  return load;
}

Seconds<> PlanEvaluator::Parts::least_replicas_of(const Plan& asked, TrafficKey key) {
  const Plan of_traffic = key.plan;
  key.plan.micro_batch = asked.micro_batch;
  key.plan.grad_accumulation = asked.grad_accumulation;
  key.plan.sequence_parallel = asked.sequence_parallel;
  key.plan.recompute = asked.recompute;
  auto& slot = least_replicas.at(key);
  if (!slot.turns_to(key)) return seconds(slot.part);
  const auto& times = times_of_layers(asked);
  const auto all = static_cast<std::int64_t>(estimator.kinds_.kind_of_layer.size());
  Seconds<> forward(0.0), backward(0.0);
  for (std::size_t k = 0; k < times.kinds.size(); ++k) {
    const auto& layer = times.kinds[k];
    const Seconds<> again = estimator.recompute_time<double>(asked, estimator.kinds_.kinds[k], layer);
    const double share =
        static_cast<double>(estimator.kinds_.count(k, 0, all) + estimator.prediction_layers(k)) / asked.pp;
    forward += share * layer.forward();
    backward += share * (layer.backward() + again);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Plan& state : layout.states) {
    const auto& sent = traffic_of({with_state(of_traffic, state), key.load});
    least = std::min(least, replicas_time(with_state(asked, state), sent, forward, backward));
  }
  slot.part = least;
  return seconds(least);
}

}  // namespace shardplan
