// The tornado of a token: the inputs that move its time most, each alone, the plan as it is.
#include <algorithm>
#include <cmath>
#include <functional>

#include "catalog/spread.h"
#include "reason/inputs.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

constexpr double kShare = 0.1;
constexpr std::size_t kKept = 10;
constexpr double kLeastMove = 1e-9;

struct ServeInput {
  std::string name, unit;
  double current = 0;
  std::function<void(ServeQuestion&, ServePlan&, double)> set;
  std::optional<Spread> spread = std::nullopt;
  bool whole = false;
};

template <class Q>
ServeInput constant(const std::string& name, const char* unit, Sourced<Q> ServingLaw::*field,
                    const ServeQuestion& q) {
  const Sourced<Q>& now = q.time.law.*field;
  return {name, unit, now.value.raw(),
          [field](ServeQuestion& other, ServePlan&, double v) { (other.time.law.*field).value = Q(v); },
          spread_of(now.source)};
}

void add_constants(const ServeQuestion& q, std::vector<ServeInput>& inputs) {
  inputs.push_back(constant("engine.weights_share", "", &ServingLaw::weights, q));
  inputs.push_back(constant("engine.cache_share", "", &ServingLaw::cache, q));
  inputs.push_back(constant("engine.step", "s", &ServingLaw::step, q));
  inputs.push_back(constant("engine.layer", "s", &ServingLaw::layer, q));
  inputs.push_back(constant("engine.routed_layer", "s", &ServingLaw::routed_layer, q));
  inputs.push_back(constant("engine.passes", "", &ServingLaw::passes, q));
  inputs.push_back(constant("engine.products_share", "", &ServingLaw::products, q));
  inputs.push_back(constant("engine.routed_products", "", &ServingLaw::routed_products, q));
  inputs.push_back(constant("engine.scores_share", "", &ServingLaw::scores, q));
  inputs.push_back(constant("engine.exchange_share", "", &ServingLaw::exchange, q));
}

void add_hardware(const ServeQuestion& q, std::vector<ServeInput>& inputs) {
  const Cluster& cluster = q.question.cluster;
  inputs.push_back({"hbm_bandwidth", "bytes/s", cluster.device.memory_bandwidth.value.raw(),
                    [](ServeQuestion& other, ServePlan&, double v) {
                      other.question.cluster.device.memory_bandwidth.value = bytes_per_s(v);
                    }});
  for (std::size_t i = 0; i < static_cast<std::size_t>(kPrecisionCount); ++i) {
    if (!cluster.device.peak[i]) continue;
    inputs.push_back({std::string("peak_") + name(static_cast<Precision>(i)), "FLOP/s",
                      cluster.device.peak[i]->value.raw(), [i](ServeQuestion& other, ServePlan&, double v) {
                        other.question.cluster.device.peak[i]->value = flops_per_s(v);
                      }});
  }
  for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier) {
    const std::string of = tier_name(cluster, tier);
    inputs.push_back({"bandwidth_" + of, "bytes/s", cluster.tiers[tier].bandwidth.value.raw(),
                      [tier](ServeQuestion& other, ServePlan&, double v) {
                        other.question.cluster.tiers[tier].bandwidth.value = bytes_per_s(v);
                      }});
    inputs.push_back({"latency_" + of, "s", cluster.tiers[tier].latency.value.raw(),
                      [tier](ServeQuestion& other, ServePlan&, double v) {
                        other.question.cluster.tiers[tier].latency.value = seconds(v);
                      }});
  }
}

void add_load(const ServeQuestion& q, const ServePlan& p, std::vector<ServeInput>& inputs) {
  inputs.push_back({"input", "tokens", q.input,
                    [](ServeQuestion& other, ServePlan&, double v) { other.input = v; }, std::nullopt, true});
  if (q.output > 0) {
    inputs.push_back({"output", "tokens", q.output,
                      [](ServeQuestion& other, ServePlan&, double v) { other.output = v; }, std::nullopt,
                      true});
  }
  inputs.push_back({"batch", "requests", static_cast<double>(p.batch),
                    [](ServeQuestion&, ServePlan& plan, double v) {
                      plan.batch = static_cast<std::int64_t>(std::llround(v));
                    },
                    std::nullopt, true});
}

/// 0.9 and 1.1 of a value, or as far off as its source says.
std::pair<double, double> ends_of(const ServeInput& input) {
  double low = input.current * (1 - kShare), high = input.current * (1 + kShare);
  if (input.spread) {
    low = input.spread->low(input.current);
    high = input.spread->high(input.current);
  }
  if (input.whole) {
    low = std::max(1.0, std::floor(low));
    high = std::max(low + 1, std::ceil(high));
  }
  return {low, high};
}

Seconds<> token_at(const ServeQuestion& q, const ServePlan& p, const ServeInput& input, double value) {
  ServeQuestion other = q;
  ServePlan plan = p;
  input.set(other, plan, value);
  return judged_again(other, plan).cost.tpot;
}

}  // namespace

std::vector<Sensitivity> serve_sensitivity(const ServeQuestion& q, const ServePlan& p) {
  std::vector<Sensitivity> found;
  if (!p.fits) return found;
  std::vector<ServeInput> inputs;
  add_hardware(q, inputs);
  add_constants(q, inputs);
  add_load(q, p, inputs);
  const Seconds<> now = p.cost.tpot;
  const auto swing = [&](const Sensitivity& s) {
    return std::max(std::fabs((s.step_low - now).raw()), std::fabs((s.step_high - now).raw()));
  };
  for (const ServeInput& input : inputs) {
    if (!(input.current > 0)) continue;
    const auto [low, high] = ends_of(input);
    Sensitivity s{input.name,
                  input.unit,
                  input.current,
                  low,
                  high,
                  token_at(q, p, input, low),
                  token_at(q, p, input, high),
                  input.spread ? spread_words(*input.spread) : ""};
    if (swing(s) > kLeastMove * now.raw()) found.push_back(std::move(s));
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const Sensitivity& a, const Sensitivity& b) { return swing(a) > swing(b); });
  if (found.size() > kKept) found.resize(kKept);
  return found;
}

}  // namespace shardplan
