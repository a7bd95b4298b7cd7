#include "reason/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "reason/inputs.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kShare = 0.1;
constexpr std::size_t kKept = 10;
/// Sums in another order differ in their last digits: less is no move.
constexpr double kLeastMove = 1e-9;

double tokens_of(const Question& q, const Plan& plan) {
  return static_cast<double>(plan.sequences()) * static_cast<double>(q.workload.sequence);
}

/// The plan's step with one input at a value, for as many tokens; nothing where the plan is not legal there.
std::optional<Seconds<>> step_at(const Question& now, const Estimate& best, const Input& input,
                                 double value) {
  if (value == input.current) return best.step;
  Question question = now;
  // What is searched does not matter, and listing it takes time.
  question.whole_space = false;
  Plan plan = best.plan;
  input.set(question, plan, value);
  const Estimator estimator(question);
  if (input.step > 0 && estimator.space().first_broken(plan)) return std::nullopt;
  return estimator.time<double>(plan).total() * (tokens_of(now, best.plan) / tokens_of(question, plan));
}

struct Range {
  double low, high;
  std::string of;  // what the two are, in words
};

Range range_of(const Input& input) {
  const double now = input.current;
  Range range{now * (1 - kShare), now * (1 + kShare), ""};
  if (input.spread) {
    range = {input.spread->low(now), input.spread->high(now), spread_words(*input.spread)};
  }
  const auto possible = [&](double value) {
    if (input.step > 0) value = std::round(value / input.step) * input.step;
    return std::clamp(value, std::max(input.least, input.step), input.most);
  };
  const double low = possible(range.low), high = possible(range.high);
  // Rounding to whole multiples shows in the value itself; an end that is as far as it goes does not.
  if (low == input.least || high == input.most) {
    range.of += (range.of.empty() ? "" : ", ") + std::string("no ") +
                (low == input.least ? "less than " + format_number(low) : "more than " + format_number(high));
  }
  return {low, high, range.of};
}

}  // namespace

std::vector<Sensitivity> sensitivity(const Estimator& estimator, const Estimate& best) {
  std::vector<Sensitivity> found;
  const Question& q = estimator.question();
  const auto swing = [&](const Sensitivity& s) {
    return std::max(std::fabs((s.step_low - best.step).raw()), std::fabs((s.step_high - best.step).raw()));
  };
  for (const Input& input : time_inputs(q, best.plan)) {
    const Range range = range_of(input);
    const auto low = step_at(q, best, input, range.low), high = step_at(q, best, input, range.high);
    if (!low || !high) continue;
    found.push_back({input.name, input.unit, input.current, range.low, range.high, *low, *high, range.of});
    if (swing(found.back()) <= kLeastMove * best.step.raw()) found.pop_back();
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const Sensitivity& a, const Sensitivity& b) { return swing(a) > swing(b); });
  if (found.size() > kKept) found.resize(kKept);
  return found;
}

}  // namespace shardplan
