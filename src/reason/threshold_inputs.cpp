#include "reason/threshold_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "reason/inputs.h"

namespace shardplan {
namespace {

/// GPUs are bought by the node.
ThresholdInput gpus(const Question& q, bool fits) {
  ThresholdInput input{.name = "gpus", .unit = "GPUs", .current = static_cast<double>(q.cluster.gpus)};
  const std::int64_t node = q.cluster.tiers.front().size;
  const bool by_the_node = fits ? q.cluster.gpus > node : q.cluster.gpus >= node;
  input.step = by_the_node ? static_cast<double>(node) : 1.0;
  input.set = [](Question& other, double v) {
    const auto count = static_cast<std::int64_t>(v);
    const Cluster& now = other.cluster;
    const bool one_node = now.tiers.size() == 1 && now.beyond.empty();
    // One node cannot grow where what would connect two of them is not known.
    if (count < 1 || (one_node && count > now.tiers.back().size)) return false;
    if (count > now.tiers.front().size && count % now.tiers.front().size != 0) return false;
    set_gpus(other.cluster, count);
    return true;
  };
  input.layout_counts = false;
  input.directions = {!fits, fits};
  return input;
}

constexpr double kFarthest = 4;

/// The values that it can have in whole steps from its current one.
void take_steps(double step, ThresholdInput& input) {
  double value = input.current;
  while (value - step > 0 && kFarthest * (value - step) >= input.current) value -= step;
  for (; value <= kFarthest * input.current; value += step) input.values.push_back(value);
}

/// As it is known to the times of one plan; that plan's own batch follows of itself.
ThresholdInput from(const Input& known, const Plan& plan) {
  ThresholdInput input{.name = known.name, .unit = known.unit, .current = known.current};
  input.set = [set = known.set, plan](Question& other, double v) {
    Plan ignored = plan;
    set(other, ignored, v);
    return v > 0;
  };
  if (known.step > 0) take_steps(known.step, input);
  return input;
}

/// Those below kLongSequence come in smaller steps.
void add_short_sequences(const Question& q, const Plan& plan, ThresholdInput& input) {
  Question shorter = q;
  shorter.workload.sequence = 1;
  const double step = sequence_input(shorter, plan).step;
  std::vector<double> values = std::move(input.values);
  for (double value = std::ceil(kLongSequence / step - 1) * step;
       value > 0 && kFarthest * value >= input.current && input.current >= kLongSequence; value -= step)
    values.push_back(value);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  input.values = std::move(values);
}

ThresholdInput sequence(const Question& q, const SearchResult& result) {
  const Plan plan = result.best ? result.best->plan : Plan{};
  ThresholdInput input = from(sequence_input(q, plan), plan);
  add_short_sequences(q, plan, input);
  input.directions = {result.best.has_value(), true};
  return input;
}

/// Of the best plan, else of the runner-up that has most.
std::int64_t stages_of(const SearchResult& result) {
  std::int64_t stages = result.best ? result.best->plan.pp : 1;
  if (stages > 1) return stages;
  for (const Estimate& other : result.runners_up) stages = std::max<std::int64_t>(stages, other.plan.pp);
  return stages;
}

/// The model with more or fewer of its layers: those that are added are as its last one.
ThresholdInput layers(const Question& q, const SearchResult& result) {
  const std::size_t now = q.model.layers.size();
  ThresholdInput input{.name = "layers", .unit = "layers", .current = static_cast<double>(now)};
  input.set = [now](Question& other, double v) {
    if (v < 1) return false;
    other.model.layers.resize(static_cast<std::size_t>(v), other.model.layers.back());
    auto& declared = other.model.declared_parameters;
    if (declared) *declared *= v / static_cast<double>(now);
    return true;
  };
  input.directions = {result.best.has_value(), true};
  take_steps(static_cast<double>(stages_of(result)), input);
  return input;
}

/// Of each tier that the GPUs reach over.
std::vector<std::size_t> tiers_reached(const Cluster& cluster) {
  std::vector<std::size_t> reached;
  for (std::size_t i = 0; i < cluster.tiers.size(); ++i)
    if (cluster.gpus > (i == 0 ? 1 : cluster.tiers[i - 1].size)) reached.push_back(i);
  return reached;
}

}  // namespace

std::vector<ThresholdInput> threshold_inputs(const Question& q, const SearchResult& result) {
  const bool fits = result.best.has_value();
  std::vector<ThresholdInput> inputs{gpus(q, fits), sequence(q, result), layers(q, result)};
  if (!fits) return inputs;
  const Plan& best = result.best->plan;
  if (q.workload.global_batch > 0) inputs.push_back(from(batch_input(best), best));
  for (const std::size_t tier : tiers_reached(q.cluster)) {
    inputs.push_back(from(bandwidth_input(q.cluster, tier), best));
    // The tables of a library hold the latencies of its own algorithms.
    if (q.cluster.collectives || q.cluster.tiers[tier].latency.value <= seconds(0)) continue;
    inputs.push_back(from(latency_input(q.cluster, tier), best));
  }
  return inputs;
}

std::vector<NotSought> not_sought(const Question& q, const SearchResult& result) {
  std::vector<NotSought> found;
  if (!result.best || !q.cluster.collectives) return found;
  for (const std::size_t tier : tiers_reached(q.cluster)) {
    found.push_back({"latency_" + tier_name(q.cluster, tier),
                     "the library's tables have a latency for each algorithm and protocol, and no single one "
                     "of them is the tier's"});
  }
  return found;
}

}  // namespace shardplan
