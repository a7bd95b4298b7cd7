#include "reason/threshold_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>

#include "units/format.h"

namespace shardplan {
namespace {

/// Factors from the current value at which known plans are compared, as far as is looked.
constexpr std::array kFactors{1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0};
/// Those at which other plans are searched for, some of kFactors. What divides a sequence, a batch or layers
/// changes to and fro; a bandwidth is worth more to one plan than to another all the way.
constexpr std::initializer_list<double> kWholeProbes{1.25, 1.5, 2.0, 4.0}, kProbes{4.0};
/// GPU counts are tried node by node first: what is legal jumps from one to the next.
constexpr int kNodesTried = 8;
constexpr double kClose = 1.002;  // where any value is meant, how near the two sides come
/// Plans that may turn up one after the other, each nearer than the one before.
constexpr int kTurnsMax = 24;

double whole(double value, double step) { return step > 0 ? std::round(value / step) * step : value; }

double from_current(const ThresholdInput& input, double factor, bool up) {
  const double value = whole(up ? input.current * factor : input.current / factor, input.step);
  return input.step > 0 ? std::max(value, input.step) : value;
}

/// The same plan for another question's batch and GPUs; it may not be legal there.
Plan carried_over(Plan plan, const Question& q) {
  const std::int64_t model = std::int64_t{plan.tp} * plan.pp * plan.cp;
  plan.dp = static_cast<std::int32_t>(std::max<std::int64_t>(1, q.cluster.gpus / model));
  const std::int64_t each = std::int64_t{plan.dp} * plan.micro_batch;
  if (q.workload.global_batch > 0)
    plan.grad_accumulation =
        static_cast<std::int32_t>(std::max<std::int64_t>(1, q.workload.global_batch / each));
  return plan;
}

}  // namespace

std::string gives_way(const Plan& from, const Plan& to) {
  Plan plain;
  plain.dp = from.dp;
  plain.tp = from.tp;
  plain.pp = from.pp;
  plain.cp = from.cp;
  plain.ep = from.ep;
  plain.etp = from.etp;
  const std::string text = canonical(plain);
  return text.substr(0, text.find("·z")) + " gives way to " + canonical(to);
}

ThresholdScan::ThresholdScan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result,
                             SearchWatch* watch)
    : base_(base), fixed_(fixed), result_(result), watch_(watch) {
  learn(result);
  for (const Estimate& other : result.runners_up) known_.push_back(other.plan);
}

std::optional<Threshold> ThresholdScan::find(const ThresholdInput& input, bool up) {
  return input.layout_counts ? find_layout(input, up) : find_fitting(input, up);
}

std::optional<Threshold> ThresholdScan::find_layout(const ThresholdInput& input, bool up) {
  std::map<double, std::optional<SearchResult>> searched;
  const auto at = [&](double value) -> const std::optional<SearchResult>& {
    const auto [slot, fresh] = searched.try_emplace(value);
    if (fresh) slot->second = search_at(input, value);
    return slot->second;
  };
  for (const double factor : input.step > 0 ? kWholeProbes : kProbes) {
    for (int turn = 0; turn < kTurnsMax; ++turn) {
      const auto sides = nearest_flip(input, factor, up);
      const auto& found = at(sides ? sides->other : from_current(input, factor, up));
      if (!found) break;
      if (found->stopped) return std::nullopt;
      if (learn(*found)) continue;  // it may overtake the others earlier
      if (!sides || !differs(found->best, true)) break;
      if (sides->same == input.current) return threshold(input, *sides, *found, true);
      const auto& before = at(sides->same);
      if (before && learn(*before)) continue;
      return threshold(input, *sides, *found, before.has_value());
    }
  }
  return std::nullopt;
}

/// Counts of GPUs that fit may follow ones that do not: 4 divide what 7 do not. What is sought is the change
/// after which nothing changes back.
std::optional<Threshold> ThresholdScan::find_fitting(const ThresholdInput& input, bool up) {
  std::vector<double> values;
  const double from =
      (up ? std::floor(input.current / input.step) : std::ceil(input.current / input.step)) * input.step;
  for (int i = 1; i <= kNodesTried; ++i) values.push_back(up ? from + i * input.step : from - i * input.step);
  for (const double factor : {1.25, 1.5, 2.0, 4.0}) values.push_back(from_current(input, factor, up));
  const bool changes_back = result_.best.has_value();
  Sides sides{input.current, 0};
  std::optional<SearchResult> change;
  std::vector<double> differing, passed;
  double last = input.current;
  const auto at = [&](double value) { return search_at(input, value); };
  for (const double value : values) {
    if (up ? value <= last : value >= last) continue;  // rounded back to one that was tried
    auto found = at(value);
    if (!found) continue;
    last = value;
    if (differs(found->best, false)) {
      if (!change) {
        sides.other = value;
        change = std::move(found);
      }
      if (!changes_back) break;
      differing.push_back(value);
    } else {
      sides.same = value;
      change.reset();
      passed = differing;
    }
  }
  if (!change) return std::nullopt;
  bool close = true;
  while (close) {
    const double middle = whole((sides.same + sides.other) / 2, input.step);
    if (middle == sides.same || middle == sides.other) break;
    auto found = at(middle);
    close = found.has_value();
    if (!close) break;
    const bool other = differs(found->best, false);
    (other ? sides.other : sides.same) = middle;
    if (other) change = std::move(found);
  }
  Threshold threshold = this->threshold(input, sides, *change, close);
  // Values on the way to it that are no better than those beyond it.
  for (const double value : passed)
    threshold.then += (value == passed.front() ? "; nor does anything on " : ", ") + format_count(value);
  if (!passed.empty()) threshold.then += " " + input.unit;
  return threshold;
}

std::optional<Question> ThresholdScan::question_at(const ThresholdInput& input, double value) const {
  std::optional<Question> question = base_.question();
  if (!input.set(*question, value)) question.reset();
  return question;
}

std::optional<Estimate> ThresholdScan::best_known(const Estimator& estimator) const {
  std::optional<Estimate> best;
  for (const Plan& known : known_) {
    const Plan plan = carried_over(known, estimator.question());
    if (estimator.space().first_broken(plan)) continue;
    const Outcome outcome = estimator.estimate(plan);
    const Estimate* found = std::get_if<Estimate>(&outcome);
    if (found != nullptr && (!best || better(*found, *best))) best = *found;
  }
  return best;
}

std::optional<ThresholdScan::Sides> ThresholdScan::nearest_flip(const ThresholdInput& input, double most,
                                                                bool up) const {
  Sides sides{input.current, 0};
  for (const double factor : kFactors) {
    if (factor > most) break;
    const double value = from_current(input, factor, up);
    if (up ? value <= sides.same : value >= sides.same) continue;
    sides.other = value;
    const auto narrow = narrowed(input, sides);
    if (narrow) return narrow;
    sides.same = value;
  }
  return std::nullopt;
}

/// The two sides close together; nothing where nothing changes between them.
std::optional<ThresholdScan::Sides> ThresholdScan::narrowed(const ThresholdInput& input, Sides sides) const {
  const auto changes = [&](double value) {
    auto question = question_at(input, value);
    if (!question) return false;
    question->whole_space = false;  // nothing is searched, and listing the whole space takes time
    return differs(best_known(Estimator(*question)), true);
  };
  if (!changes(sides.other)) return std::nullopt;
  while (std::max(sides.same, sides.other) / std::min(sides.same, sides.other) > kClose) {
    double middle = whole(std::sqrt(sides.same * sides.other), input.step);
    if (middle == sides.same || middle == sides.other)
      middle = whole((sides.same + sides.other) / 2, input.step);
    if (middle == sides.same || middle == sides.other) break;
    (changes(middle) ? sides.other : sides.same) = middle;
  }
  return sides;
}

std::optional<SearchResult> ThresholdScan::search_at(const ThresholdInput& input, double value) {
  const auto question = question_at(input, value);
  if (!question || stopped(watch_)) return std::nullopt;
  const Estimator estimator(*question);
  const auto known = best_known(estimator);
  SearchResult found = fastest(estimator, fixed_, known ? std::optional(known->plan) : std::nullopt, watch_);
  // A value for which no plan is legal says nothing about memory or speed.
  if (found.census.considered == 0) return std::nullopt;
  return found;
}

bool ThresholdScan::learn(const SearchResult& found) {
  const auto& miss = found.census.nearest_miss;
  if (!found.best && !miss) return false;
  const Plan& plan = found.best ? found.best->plan : miss->plan;
  const bool fresh = std::none_of(known_.begin(), known_.end(), [&](const Plan& known) {
    return carried_over(known, base_.question()) == carried_over(plan, base_.question());
  });
  if (fresh) known_.push_back(plan);
  return fresh;
}

bool ThresholdScan::differs(const std::optional<Estimate>& there, bool layout_counts) const {
  if (there.has_value() != result_.best.has_value()) return true;
  return layout_counts && there && !same_degrees(there->plan, result_.best->plan);
}

Threshold ThresholdScan::threshold(const ThresholdInput& input, const Sides& sides, const SearchResult& there,
                                   bool confirmed) const {
  Threshold found{input.name, input.current, sides.other, input.unit, then(there)};
  if (confirmed) {
    found.same_until = sides.same;
  } else {
    found.then = "no later than there, " + found.then;
  }
  return found;
}

std::string ThresholdScan::then(const SearchResult& there) const {
  if (!there.best) {
    const auto& miss = there.census.nearest_miss;
    return std::string("nothing fits any more") +
           (miss ? std::string(" (") + name(miss->constraint) + ")" : "");
  }
  if (!result_.best) return "a plan fits: " + canonical(there.best->plan);
  return gives_way(result_.best->plan, there.best->plan);
}

}  // namespace shardplan
