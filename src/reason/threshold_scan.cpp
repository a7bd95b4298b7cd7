#include "reason/threshold_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "reason/memory_answer.h"
#include "reason/sentence.h"

namespace shardplan {
namespace {

/// Factors from the current value at which known plans are compared, as far as is looked.
constexpr std::array kFactors{1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0};
/// Those at which other plans are searched for, some of kFactors: a bandwidth is worth more to one plan than
/// to another all the way.
constexpr std::initializer_list<double> kWholeProbes{1.25, 1.5, 2.0, 4.0}, kProbes{4.0};
/// Searches between today's value and a change that was found, for one that is nearer: all values where there
/// are no more, else spread evenly.
constexpr int kNearerTried = 4;
/// GPU counts are tried node by node first: what is legal jumps from one to the next.
constexpr int kNodesTried = 8;
constexpr double kClose = 1.002;  // where any value is meant, how near the two sides come
/// Plans that may turn up one after the other, each nearer than the one before.
constexpr int kTurnsMax = 24;

double whole(double value, double step) { return step > 0 ? std::round(value / step) * step : value; }

/// The nearest value that the input can have.
double possible(const ThresholdInput& input, double value) {
  if (input.values.empty()) return input.step > 0 ? std::max(whole(value, input.step), input.step) : value;
  const auto above = std::lower_bound(input.values.begin(), input.values.end(), value);
  if (above == input.values.begin()) return *above;
  if (above == input.values.end()) return input.values.back();
  return *above - value < value - *(above - 1) ? *above : *(above - 1);
}

double from_current(const ThresholdInput& input, double factor, bool up) {
  return possible(input, up ? input.current * factor : input.current / factor);
}

/// A value between the two that the input can have; nothing where they are as close as is meant.
std::optional<double> between(const ThresholdInput& input, double a, double b) {
  if (a > b) std::swap(a, b);
  const double middle = std::sqrt(a * b);
  if (input.values.empty()) return b / a > kClose ? std::optional(middle) : std::nullopt;
  const auto first = std::upper_bound(input.values.begin(), input.values.end(), a);
  const auto last = std::lower_bound(first, input.values.end(), b);
  if (first == last) return std::nullopt;
  const auto at = std::lower_bound(first, last, middle);
  return at == last ? *(last - 1) : *at;
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
  const std::string text = canonical(with_degrees({}, from));
  return text.substr(0, text.find("·z")) + " gives way to " + canonical(to);
}

ThresholdScan::ThresholdScan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result,
                             SearchWatch* watch)
    : base_(base), fixed_(fixed), result_(result), watch_(watch) {
  learn(result);
  for (const Estimate& other : result.runners_up) known_.push_back(other.plan);
}

std::optional<Threshold> ThresholdScan::find(const ThresholdInput& input, bool up) {
  if (!input.layout_counts) return find_fitting(input, up);
  return input.values.empty() ? find_layout(input, up) : find_whole(input, up);
}

std::optional<Threshold> ThresholdScan::find_layout(const ThresholdInput& input, bool up) {
  Searched searched;
  for (const double factor : kProbes) {
    for (int turn = 0; turn < kTurnsMax; ++turn) {
      const auto sides = nearest_flip(input, factor, up);
      const auto& found = at(input, sides ? sides->other : from_current(input, factor, up), searched);
      if (!found) break;
      if (found->stopped) return std::nullopt;
      if (learn(*found)) continue;  // it may overtake the others earlier
      if (!sides || !differs(found->best, true)) break;
      if (sides->same == input.current) return threshold(input, *sides, *found, true);
      const auto& before = at(input, sides->same, searched);
      if (before && learn(*before)) continue;
      return threshold(input, *sides, *found, before.has_value());
    }
  }
  return std::nullopt;
}

/// What divides a sequence, a batch or layers changes to and fro: no plan's time alone says where.
std::optional<Threshold> ThresholdScan::find_whole(const ThresholdInput& input, bool up) {
  Searched searched;
  std::optional<double> other;
  for (const double factor : kWholeProbes) {
    for (int turn = 0; turn < kTurnsMax; ++turn) {
      const auto sides = nearest_flip(input, factor, up);
      const auto& found = at(input, sides ? sides->other : from_current(input, factor, up), searched);
      // A plan that was not known may overtake the others earlier.
      if (!found || !learn(*found)) break;
    }
    other = nearest_other(input, searched);
    if (other || stopped(watch_)) break;
  }
  if (!other) return std::nullopt;
  for (int tried = 0; tried < kNearerTried; ++tried) {
    const auto value = widest_gap(input, searched, *other);
    if (!value) break;
    if (const auto& found = at(input, *value, searched)) learn(*found);
    other = nearest_other(input, searched);
  }
  double same = input.current;
  while (!stopped(watch_)) {
    same = last_same(input, searched, *other);
    const auto value = next_value(input, searched, {same, *other}, up);
    if (!value) return threshold(input, {same, *other}, *searched.at(*other), true);
    if (searched.contains(*value)) break;  // no plan is legal there
    if (const auto& found = at(input, *value, searched)) learn(*found);
    other = nearest_other(input, searched);
  }
  if (stopped(watch_)) return std::nullopt;
  return threshold(input, {same, *other}, *searched.at(*other), false);
}

/// Where to search between the two: where known plans say that the answer changes, else in the middle;
/// nothing where they are neighbours.
std::optional<double> ThresholdScan::next_value(const ThresholdInput& input, const Searched& searched,
                                                Sides sides, bool up) const {
  const auto middle = between(input, sides.same, sides.other);
  if (!middle) return std::nullopt;
  const auto flip = nearest_flip(input, kFactors.back(), up);
  if (!flip) return middle;
  for (const double value : {flip->other, flip->same}) {
    const bool inside = (value - sides.same) * (value - sides.other) < 0;
    if (inside && !searched.contains(value)) return value;
  }
  return middle;
}

/// What was searched, or is now.
const std::optional<SearchResult>& ThresholdScan::at(const ThresholdInput& input, double value,
                                                     Searched& searched) {
  const auto [slot, fresh] = searched.try_emplace(value);
  if (fresh) slot->second = search_at(input, value);
  return slot->second;
}

/// The nearest value of those that were searched at which the answer is another one.
std::optional<double> ThresholdScan::nearest_other(const ThresholdInput& input,
                                                   const Searched& searched) const {
  std::optional<double> nearest;
  for (const auto& [value, found] : searched) {
    if (!found || !differs(found->best, true)) continue;
    if (!nearest || std::fabs(value - input.current) < std::fabs(*nearest - input.current)) nearest = value;
  }
  return nearest;
}

/// The farthest value before `other` at which the answer was found to be the same.
double ThresholdScan::last_same(const ThresholdInput& input, const Searched& searched, double other) const {
  double last = input.current;
  for (const auto& [value, found] : searched) {
    const bool before = std::fabs(value - input.current) < std::fabs(other - input.current);
    if (found && before && std::fabs(value - input.current) > std::fabs(last - input.current)) last = value;
  }
  return last;
}

/// A value in the widest stretch before `other` in which nothing was searched.
std::optional<double> ThresholdScan::widest_gap(const ThresholdInput& input, const Searched& searched,
                                                double other) const {
  std::vector<double> ends{input.current, other};
  for (const auto& one : searched)
    if ((one.first - input.current) * (one.first - other) < 0) ends.push_back(one.first);
  std::sort(ends.begin(), ends.end());
  std::optional<double> widest;
  double width = 1;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    const auto middle = between(input, ends[i], ends[i + 1]);
    if (!middle || ends[i + 1] / ends[i] <= width) continue;
    width = ends[i + 1] / ends[i];
    widest = middle;
  }
  return widest;
}

/// Below how many GPUs not even the state fits: nothing is searched there.
double ThresholdScan::first_tried(const ThresholdInput& input, bool up) const {
  const double current =
      (up ? std::floor(input.current / input.step) : std::ceil(input.current / input.step)) * input.step;
  if (!up || result_.best) return current;
  const double below_floor = std::ceil(state_floor(base_).min_gpus / input.step - 1) * input.step;
  return std::max(current, below_floor);
}

/// Counts of GPUs that fit may follow ones that do not: 4 divide what 7 do not. What is sought is the change
/// after which nothing changes back.
std::optional<Threshold> ThresholdScan::find_fitting(const ThresholdInput& input, bool up) {
  std::vector<double> values;
  const double from = first_tried(input, up);
  for (int i = 1; i <= kNodesTried; ++i) values.push_back(up ? from + i * input.step : from - i * input.step);
  const double far = from / input.current;
  for (const double factor : {1.25, 1.5, 2.0, 4.0})
    values.push_back(from_current(input, up ? factor * far : factor, up));
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
  Sentence passing;
  for (const double value : passed)
    passing << (value == passed.front() ? "; nor does anything on " : ", ")
            << stated_count("passed", value, input.unit.c_str());
  if (!passed.empty()) passing << " " + input.unit;
  threshold.then += passing.words();
  threshold.figures = passing.figures();
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
  while (const auto middle = between(input, sides.same, sides.other))
    (changes(*middle) ? sides.other : sides.same) = *middle;
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
