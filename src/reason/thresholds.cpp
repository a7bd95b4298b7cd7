#include "reason/thresholds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "reason/memory_answer.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// Layouts that all searches together may bound, memory's apart: some 20 searches of 4,096 GPUs.
constexpr std::int64_t kLayoutsMax = 15'000;
/// Factors from the current value that are tried before the bisection.
constexpr std::array kFactors{1.25, 1.5, 2.0, 4.0};
/// GPU counts are tried node by node first: what is legal jumps from one to the next.
constexpr int kNodesTried = 8;
constexpr double kClose = 1.01;  // where any value is meant, how near the two sides come
constexpr double kLongSequence = 8192, kLongStep = 1024, kShortStep = 128;

/// One input of the question. `set` says whether the value is one that it can take.
struct Parameter {
  const char* name;
  const char* unit;
  double (*get)(const Question&);
  bool (*set)(Question&, double);
  double (*step)(const Question&, const SearchResult&);  // values are whole multiples of it; 0 = any
  bool layout_counts;  // a change of layout is a threshold; else only feasibility is
  // Directions that can matter, upwards and downwards, when something fits and when nothing does.
  std::array<bool, 2> when_fits, when_nothing_does;
};

double whole(double value, double step) { return step > 0 ? std::round(value / step) * step : value; }

constexpr std::array kParameters{
    Parameter{"gpus",
              "GPUs",
              [](const Question& q) { return static_cast<double>(q.cluster.gpus); },
              [](Question& q, double v) {
                const auto gpus = static_cast<std::int64_t>(v);
                Tier& outer = q.cluster.tiers.back();
                // One node cannot grow: what would connect two of them was not said.
                if (gpus < 1 || (q.cluster.tiers.size() == 1 && gpus > outer.size)) return false;
                q.cluster.gpus = gpus;
                outer.size = std::max(outer.size, gpus);
                fit_torus(q.cluster);
                return true;
              },
              [](const Question& q, const SearchResult&) {
                const std::int64_t node = q.cluster.tiers.front().size;
                return q.cluster.gpus > node ? static_cast<double>(node) : 1.0;
              },
              false,
              {false, true},
              {true, false}},
    Parameter{"sequence",
              "tokens",
              [](const Question& q) { return static_cast<double>(q.workload.sequence); },
              [](Question& q, double v) {
                q.workload.sequence = static_cast<std::int64_t>(v);
                return v >= 1;
              },
              [](const Question& q, const SearchResult&) {
                return static_cast<double>(q.workload.sequence) >= kLongSequence ? kLongStep : kShortStep;
              },
              true,
              {true, true},
              {false, true}},
    Parameter{"bandwidth_inter_node",
              "bytes/s",
              [](const Question& q) { return q.cluster.tiers.back().bandwidth.value.raw(); },
              [](Question& q, double v) {
                q.cluster.tiers.back().bandwidth.value = bytes_per_s(v);
                return q.cluster.tiers.size() > 1 && q.cluster.gpus > q.cluster.tiers.front().size;
              },
              [](const Question&, const SearchResult&) { return 0.0; },
              true,
              {true, true},
              {false, false}},
    Parameter{"global_batch",
              "sequences",
              [](const Question& q) { return static_cast<double>(q.workload.global_batch); },
              [](Question& q, double v) {
                const bool told = q.workload.global_batch > 0;
                q.workload.global_batch = static_cast<std::int64_t>(v);
                return told && v >= 1;
              },
              [](const Question&, const SearchResult& r) {
                return r.best ? static_cast<double>(r.best->plan.dp) * r.best->plan.micro_batch : 1.0;
              },
              true,
              {true, true},
              {false, false}},
};

std::string degrees(const Plan& p) {
  Plan plain;
  plain.dp = p.dp;
  plain.tp = p.tp;
  plain.pp = p.pp;
  plain.cp = p.cp;
  plain.ep = p.ep;
  plain.etp = p.etp;
  const std::string text = canonical(plain);
  return text.substr(0, text.find("·z"));
}

/// What a neighbouring question's best plan is compared with first.
std::optional<Plan> known_plan(const SearchResult& result) {
  return result.best ? std::optional(result.best->plan) : std::nullopt;
}

/// The searches for one parameter, from the question as it is.
class Scan {
 public:
  Scan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result, const Parameter& parameter,
       std::int64_t& layouts_left, SearchWatch* watch)
      : base_(base),
        fixed_(fixed),
        result_(result),
        parameter_(parameter),
        layouts_left_(layouts_left),
        watch_(watch),
        current_(parameter.get(base.question())),
        step_(parameter.step(base.question(), result)) {}

  /// The nearest change found upwards (or downwards). Counts of GPUs that fit may follow ones that do not: 4
  /// divide what 7 do not. There it is the change after which nothing changes back.
  std::optional<Threshold> find(bool up) {
    const bool changes_back = !parameter_.layout_counts && result_.best;
    double same = current_, last = current_;
    std::optional<std::pair<double, SearchResult>> change;
    std::vector<double> differing, passed;
    for (const double value : probes(up)) {
      // Rounding may bring a probe back to one that was searched.
      if (up ? value <= last : value >= last) continue;
      auto found = search_at(value);
      if (!found) continue;
      last = value;
      if (differs(*found)) {
        if (!change) change.emplace(value, std::move(*found));
        if (!changes_back) break;
        differing.push_back(value);
      } else {
        same = value;
        change.reset();
        passed = differing;
      }
    }
    if (!change) return std::nullopt;
    Threshold threshold = bisect(same, change->first, std::move(change->second));
    threshold.then += passed_words(passed);
    return threshold;
  }

 private:
  std::vector<double> probes(bool up) const {
    std::vector<double> values;
    const double from = (up ? std::floor(current_ / step_) : std::ceil(current_ / step_)) * step_;
    for (int i = 1; !parameter_.layout_counts && i <= kNodesTried; ++i) {
      values.push_back(up ? from + i * step_ : from - i * step_);
    }
    for (const double factor : kFactors) {
      values.push_back(whole(up ? current_ * factor : current_ / factor, step_));
    }
    return values;
  }

  std::optional<SearchResult> search_at(double value) {
    Question question = base_.question();
    if (!parameter_.set(question, value) || layouts_left_ <= 0 || stopped(watch_)) return std::nullopt;
    const Estimator estimator(question);
    SearchResult found = fastest(estimator, fixed_, known_plan(result_), watch_);
    layouts_left_ -= found.bounded;
    // A value for which no plan is legal says nothing about memory or speed.
    if (found.census.considered == 0) return std::nullopt;
    return found;
  }

  bool differs(const SearchResult& found) const {
    if (found.best.has_value() != result_.best.has_value()) return true;
    return parameter_.layout_counts && found.best && !same_degrees(found.best->plan, result_.best->plan);
  }

  Threshold bisect(double same, double other, SearchResult there) {
    bool close = true;
    while (std::max(same, other) / std::min(same, other) > kClose) {
      double middle = whole(std::sqrt(same * other), step_);
      if (middle == same || middle == other) middle = whole((same + other) / 2, step_);
      if (middle == same || middle == other) break;
      auto found = search_at(middle);
      close = found.has_value();
      if (!close) break;
      if (differs(*found)) {
        other = middle;
        there = std::move(*found);
      } else {
        same = middle;
      }
    }
    return {parameter_.name, current_, other, parameter_.unit,
            (close ? "" : "no later than there, ") + then(there)};
  }

  /// Values on the way to the threshold that are no better than those beyond it.
  std::string passed_words(const std::vector<double>& values) const {
    std::string words;
    for (const double value : values) words += (words.empty() ? "" : ", ") + format_count(value);
    return words.empty() ? "" : "; nor does anything on " + words + " " + parameter_.unit;
  }

  std::string then(const SearchResult& there) const {
    if (!there.best) {
      const auto& miss = there.census.nearest_miss;
      return std::string("nothing fits any more") +
             (miss ? std::string(" (") + name(miss->constraint) + ")" : "");
    }
    if (!result_.best) return "a plan fits: " + canonical(there.best->plan);
    return degrees(result_.best->plan) + " gives way to " + canonical(there.best->plan);
  }

  const Estimator& base_;
  const FixedAxes& fixed_;
  const SearchResult& result_;
  const Parameter& parameter_;
  std::int64_t& layouts_left_;
  SearchWatch* watch_;
  double current_, step_;
};

/// The memory of a GPU at which `usable` would be usable.
double hbm_of(const Cluster& c, Bytes<> usable_bytes) {
  return ((usable_bytes + c.reserve_fixed.value) / (ratio(1) - c.reserve_share.value)).raw();
}

/// The sizes of HBM, next below and next above, at which another layout is the best or nothing fits. A
/// bisection comes near; then the plans that are best on the way are followed, each down to its own size.
/// What is returned means nothing once it is stopped.
class HbmScan {
 public:
  HbmScan(const Estimator& base, const FixedAxes& fixed, const Estimate& best, SearchWatch* watch)
      : base_(base), fixed_(fixed), best_(best), watch_(watch) {
    found_.push_back(best);
    if (!stopped(watch)) layouts_ = bounded_layouts(base, fixed);
  }

  std::optional<Threshold> below() {
    const double fits = best_.memory.total().raw();
    double same = fits, other = 0;
    for (const double factor : kFactors) {
      if (differs(at(fits / factor))) {
        other = fits / factor;
        break;
      }
      same = fits / factor;
    }
    if (other == 0) return std::nullopt;
    bisect(same, other);
    const std::optional<Estimate> from = same == fits ? best_ : at(same);
    if (!from) return std::nullopt;
    Estimate last = *from;
    for (int step = 0; step < kStepsMax; ++step) {
      const auto next = at(last.memory.total().raw() * (1 - kJustBelow));
      if (differs(next))
        return threshold(last, next ? "below it " + gives_way(*next) : "below it nothing fits any more");
      last = *next;
    }
    return std::nullopt;
  }

  std::optional<Threshold> above() {
    const double usable = base_.usable<double>().raw();
    double same = usable, other = 0;
    for (const double factor : kFactors) {
      if (differs(at(usable * factor))) {
        other = usable * factor;
        break;
      }
      same = usable * factor;
    }
    if (other == 0) return std::nullopt;
    bisect(same, other);
    const std::optional<Estimate> from = at(other);
    if (!from) return std::nullopt;
    Estimate first = *from;
    for (int step = 0; step < kStepsMax; ++step) {
      const auto less = at(first.memory.total().raw() * (1 - kJustBelow));
      if (!differs(less)) return threshold(first, gives_way(first));
      first = *less;
    }
    return std::nullopt;
  }

 private:
  static constexpr double kJustBelow = 1e-9;
  static constexpr int kStepsMax = 64;

  /// The best plan where so much is usable.
  std::optional<Estimate> at(double usable) {
    if (stopped(watch_)) return std::nullopt;
    Question question = base_.question();
    const Cluster& cluster = question.cluster;
    // Rounding must not take away what a plan needs to the byte.
    question.cluster.device.memory_reported.value = bytes(hbm_of(cluster, bytes(usable)) * (1 + 1e-12));
    const Estimator estimator(question);
    auto found = fastest(estimator, fixed_, layouts_, known_at(question, bytes(usable)), watch_).best;
    if (found) found_.push_back(*found);
    return found;
  }
  /// What is compared with first: of the plans found so far the best that fits, else the best usual one.
  std::optional<Plan> known_at(const Question& question, Bytes<> usable) const {
    const Estimate* known = nullptr;
    for (const Estimate& e : found_)
      if (e.memory.total() <= usable && (known == nullptr || better(e, *known))) known = &e;
    if (known != nullptr || !question.whole_space) return known == nullptr ? best_.plan : known->plan;
    Question usual = question;
    usual.whole_space = false;
    const SearchResult found = fastest(Estimator(usual), fixed_, std::nullopt, watch_);
    return known_plan(found);
  }
  bool differs(const std::optional<Estimate>& found) const {
    return !found || !same_degrees(found->plan, best_.plan);
  }
  void bisect(double& same, double& other) {
    while (std::max(same, other) / std::min(same, other) > kClose) {
      const double middle = std::sqrt(same * other);
      (differs(at(middle)) ? other : same) = middle;
    }
  }
  Threshold threshold(const Estimate& at, std::string then) const {
    const Cluster& cluster = base_.question().cluster;
    return {"hbm", cluster.device.memory_reported.value.raw(), hbm_of(cluster, at.memory.total()), "bytes",
            std::move(then)};
  }
  std::string gives_way(const Estimate& to) const {
    return degrees(best_.plan) + " gives way to " + canonical(to.plan);
  }

  const Estimator& base_;
  const FixedAxes& fixed_;
  const Estimate& best_;
  SearchWatch* watch_;
  std::vector<BoundedLayout> layouts_;
  std::vector<Estimate> found_;  // with any memory
};

/// Of a question where nothing fits: the nearest miss is the smallest of all plans.
void add_hbm_of_miss(const Estimator& estimator, const SearchResult& result, std::vector<Threshold>& found) {
  const auto& miss = result.census.nearest_miss;
  if (!miss) return;
  const Cluster& cluster = estimator.question().cluster;
  found.push_back({"hbm", cluster.device.memory_reported.value.raw(), hbm_of(cluster, miss->memory.total()),
                   "bytes", "a plan fits: " + canonical(miss->plan)});
}

/// Where state alone does not fit, the count at which it would: no search needed, the floor is exact.
void add_floor(const Estimator& estimator, std::vector<Threshold>& found) {
  const Floor floor = state_floor(estimator);
  if (floor.feasible) return;
  found.push_back(
      {"gpus", static_cast<double>(estimator.question().cluster.gpus), floor.min_gpus, "GPUs",
       "state alone fits under full sharding; in whole nodes " + format_count(floor.min_gpus_whole_nodes)});
}

void add_critical_batch(const Question& q, const SearchResult& result, std::vector<Threshold>& found) {
  const double critical = q.workload.critical_batch_tokens;
  if (critical <= 0 || !result.best) return;
  const Plan& p = result.best->plan;
  const double micro_step =
      static_cast<double>(p.dp) * p.micro_batch * static_cast<double>(q.workload.sequence);
  found.push_back({"batch_tokens", micro_step * p.grad_accumulation, critical, "tokens",
                   "the critical batch: beyond it more tokens a step buy less than their share; " +
                       format_count(std::floor(critical / micro_step)) +
                       " micro-batches of accumulation stay below it"});
}

/// One threshold that is searched for.
struct Sought {
  const char* parameter;
  std::function<std::optional<Threshold>()> find;
};

/// `layouts_left`: how many all the scans together may still bound.
std::vector<Sought> to_seek(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                            std::int64_t& layouts_left, SearchWatch* watch) {
  std::vector<Sought> all;
  if (result.best) {
    const auto scan = std::make_shared<HbmScan>(estimator, fixed, *result.best, watch);
    all.push_back({"hbm", [scan] { return scan->above(); }});
    all.push_back({"hbm", [scan] { return scan->below(); }});
  }
  const bool hopeless = !state_floor(estimator).feasible;
  for (const Parameter& parameter : kParameters) {
    if (hopeless && !parameter.layout_counts) continue;  // the floor has said how many GPUs
    const auto scan = std::make_shared<Scan>(estimator, fixed, result, parameter, layouts_left, watch);
    const auto& directions = result.best ? parameter.when_fits : parameter.when_nothing_does;
    for (const bool up : {true, false}) {
      if (directions[up ? 0 : 1]) all.push_back({parameter.name, [scan, up] { return scan->find(up); }});
    }
  }
  return all;
}

}  // namespace

Thresholds thresholds(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                      SearchWatch* watch) {
  Thresholds all;
  std::vector<Threshold>& found = all.found;
  std::int64_t layouts_left = kLayoutsMax;
  add_critical_batch(estimator.question(), result, found);
  add_floor(estimator, found);
  if (!result.best && !result.stopped) add_hbm_of_miss(estimator, result, found);
  const std::vector<Sought> sought = to_seek(estimator, fixed, result, layouts_left, watch);
  WatchedItems items(watch, "thresholds", static_cast<std::int64_t>(sought.size()));
  for (const Sought& one : sought) {
    auto threshold = items.next() ? one.find() : std::nullopt;
    if (stopped(watch)) {
      if (all.left.empty() || all.left.back() != one.parameter) all.left.emplace_back(one.parameter);
    } else if (threshold) {
      found.push_back(std::move(*threshold));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Threshold& a, const Threshold& b) {
    return std::fabs(std::log(a.threshold / a.current)) < std::fabs(std::log(b.threshold / b.current));
  });
  return all;
}

}  // namespace shardplan
