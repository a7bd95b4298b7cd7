#include "reason/threshold_inputs.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "reason/inputs.h"

namespace shardplan {
namespace {

/// GPUs are bought by the node.
ThresholdInput gpus(const Question& q, bool fits) {
  ThresholdInput input{.name = "gpus", .unit = "GPUs", .current = static_cast<double>(q.cluster.gpus)};
  const std::int64_t node = q.cluster.tiers.front().size;
  input.step = q.cluster.gpus > node ? static_cast<double>(node) : 1.0;
  input.set = [](Question& other, double v) {
    const auto count = static_cast<std::int64_t>(v);
    Tier& outer = other.cluster.tiers.back();
    // One node cannot grow: what would connect two of them was not said.
    if (count < 1 || (other.cluster.tiers.size() == 1 && count > outer.size)) return false;
    other.cluster.gpus = count;
    outer.size = std::max(outer.size, count);
    fit_torus(other.cluster);
    return true;
  };
  input.layout_counts = false;
  input.directions = {!fits, fits};
  return input;
}

ThresholdInput sequence(const Question& q, bool fits) {
  constexpr double kLong = 8192, kLongStep = 1024, kShortStep = 128;
  ThresholdInput input{
      .name = "sequence", .unit = "tokens", .current = static_cast<double>(q.workload.sequence)};
  input.step = input.current >= kLong ? kLongStep : kShortStep;
  input.set = [](Question& other, double v) {
    other.workload.sequence = static_cast<std::int64_t>(v);
    return v >= 1;
  };
  input.directions = {fits, true};
  return input;
}

/// In steps that the best plan can divide: what it cannot is no finding.
ThresholdInput global_batch(const Question& q, const Plan& best) {
  ThresholdInput input{
      .name = "global_batch", .unit = "sequences", .current = static_cast<double>(q.workload.global_batch)};
  input.step = static_cast<double>(best.dp) * best.micro_batch *
               (best.schedule == Schedule::kInterleaved ? best.pp : 1);
  input.set = [](Question& other, double v) {
    other.workload.global_batch = static_cast<std::int64_t>(v);
    return v >= 1;
  };
  return input;
}

/// The model with more or fewer of its layers: those that are added are as its last one.
ThresholdInput layers(const Question& q, bool fits) {
  const std::size_t now = q.model.layers.size();
  ThresholdInput input{.name = "layers", .unit = "layers", .current = static_cast<double>(now), .step = 1};
  input.set = [now](Question& other, double v) {
    if (v < 1) return false;
    other.model.layers.resize(static_cast<std::size_t>(v), other.model.layers.back());
    auto& declared = other.model.declared_parameters;
    if (declared) *declared *= v / static_cast<double>(now);
    return true;
  };
  input.directions = {fits, true};
  return input;
}

/// Of each tier that the GPUs reach over.
void add_tiers(const Cluster& cluster, std::vector<ThresholdInput>& inputs) {
  for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
    const Tier& tier = cluster.tiers[i];
    const std::int64_t inside = i == 0 ? 1 : cluster.tiers[i - 1].size;
    if (cluster.gpus <= inside) continue;
    inputs.push_back({.name = "bandwidth_" + tier_name(cluster, i),
                      .unit = "bytes/s",
                      .current = tier.bandwidth.value.raw(),
                      .set = [i](Question& other, double v) {
                        other.cluster.tiers[i].bandwidth.value = bytes_per_s(v);
                        return true;
                      }});
    // The tables of a library hold the latencies of its own algorithms.
    if (cluster.collectives || tier.latency.value <= seconds(0)) continue;
    inputs.push_back({.name = "latency_" + tier_name(cluster, i),
                      .unit = "s",
                      .current = tier.latency.value.raw(),
                      .set = [i](Question& other, double v) {
                        other.cluster.tiers[i].latency.value = seconds(v);
                        return true;
                      }});
  }
}

}  // namespace

std::vector<ThresholdInput> threshold_inputs(const Question& q, const SearchResult& result) {
  const bool fits = result.best.has_value();
  std::vector<ThresholdInput> inputs{gpus(q, fits), sequence(q, fits), layers(q, fits)};
  if (!fits) return inputs;
  if (q.workload.global_batch > 0) inputs.push_back(global_batch(q, result.best->plan));
  add_tiers(q.cluster, inputs);
  return inputs;
}

}  // namespace shardplan
