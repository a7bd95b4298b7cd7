// What each axis that the best plan does not have would cost.
#include <algorithm>

#include "reason/axes.h"
#include "reason/remarks.h"
#include "reason/sentence.h"
#include "reason/term_words.h"

namespace shardplan {
namespace {

double per_sequence(const Estimate& e) { return e.step.raw() / static_cast<double>(e.plan.sequences()); }

/// The term that grows most from one plan to the other, each scaled to `sequences` of the first.
void add_largest_growth(const Estimate& from, const Estimate& to, Sentence& s) {
  const double scale = per_sequence(to) / to.step.raw() * from.step.raw() / per_sequence(from);
  std::size_t grown = 0;
  double most = 0;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const double more = to.time.terms[i].exposed().raw() * scale - from.time.terms[i].exposed().raw();
    if (more <= most) continue;
    most = more;
    grown = i;
  }
  if (most <= 0) return;
  s << std::string(", mostly ") + words(static_cast<TimeTerm>(grown)) + " (+";
  s << stated("largest_growth", seconds(most)) << ")";
}

/// "1.085 x the time, mostly ..."; where that would be printed as 1, how much more it is.
Sentence times_said(const Estimate& best, const Estimate& other) {
  const bool same_batch = best.plan.sequences() == other.plan.sequences();
  if (const auto tie = tie_between(best, other); tie && same_batch) return Sentence(tie_words(*tie));
  const double times = per_sequence(other) / per_sequence(best);
  const Stated printed = stated("times", ratio(times));
  Sentence s;
  if (printed.text == "1") {
    s << stated("more", seconds(times - 1) * best.step.raw()) << " more for as many sequences";
  } else {
    s << printed << " x the time";
  }
  add_largest_growth(best, other, s);
  return s;
}

Sentence illegal_reason(const Estimator& estimator, Plan plan, const PlanAxis& axis) {
  const std::int64_t gpus = estimator.question().cluster.gpus;
  if (gpus == 1) return Sentence("there is one GPU");
  if (axis.degree == Degree::kZero) {
    plan.zero_stage = 1;
  } else {
    const auto smallest = static_cast<std::int32_t>(divisors(gpus)[1]);
    set_degree(plan, axis.degree, smallest);
    if (axis.degree != Degree::kEp && axis.degree != Degree::kDp && plan.dp % smallest == 0)
      plan.dp /= smallest;
  }
  const auto violation = estimator.space().violation(plan);
  return Sentence("no legal plan uses it" + (violation ? ": " + violation->where : ""));
}

/// Nothing where it was left free.
std::string told_reason(const FixedAxes& fixed, const PlanAxis& axis) {
  const std::string least = std::to_string(lowest(axis.degree));
  if (fixed.told(axis.degree)) return "told to be " + least;
  return fixed.bounds_of(axis.degree).most == lowest(axis.degree) ? "bounded to " + least : "";
}

UnusedAxis unused(const PlanAxis& axis, const Sentence& why) {
  return {axis.name, why.words(), std::nullopt, why.figures()};
}

UnusedAxis unused_axis(const Estimator& estimator, const FixedAxes& fixed, const PlanAxis& axis,
                       const SearchResult& result, SearchWatch* watch) {
  const Estimate& best = *result.best;
  FixedAxes used = fixed;
  std::int32_t& least = used.bounds_of(axis.degree).least;
  least = std::max(lowest(axis.degree) + 1, least);
  const auto known = std::find_if(result.runners_up.begin(), result.runners_up.end(),
                                  [&](const Estimate& e) { return uses(e.plan, axis); });
  const SearchResult with = fastest(
      estimator, used, known == result.runners_up.end() ? std::nullopt : std::optional(known->plan), watch);
  if (with.best) {
    Sentence s("the best plan with it, " + canonical(with.best->plan) + ", takes ");
    s << stated("step", with.best->step) << ", " << times_said(best, *with.best);
    UnusedAxis found = unused(axis, s);
    found.plan = with.best->plan;
    return found;
  }
  if (const auto& miss = with.census.nearest_miss) {
    Sentence s("no plan with it fits; the closest, " + canonical(miss->plan) + ", is ");
    s << stated("shortfall", miss->shortfall) << " too large";
    UnusedAxis found = unused(axis, s);
    found.plan = miss->plan;
    return found;
  }
  return unused(axis, illegal_reason(estimator, best.plan, axis));
}

}  // namespace

UnusedAxes unused_axes(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                       SearchWatch* watch) {
  UnusedAxes all;
  const Plan& best = result.best->plan;
  const auto left_free = [&](const PlanAxis& axis) {
    return !uses(best, axis) && told_reason(fixed, axis).empty();
  };
  WatchedItems items(watch, "unused axes", std::count_if(kPlanAxes.begin(), kPlanAxes.end(), left_free));
  for (const PlanAxis& axis : kPlanAxes) {
    if (uses(best, axis)) continue;
    UnusedAxis found{axis.name, told_reason(fixed, axis)};
    if (left_free(axis) && items.next()) found = unused_axis(estimator, fixed, axis, result, watch);
    if (left_free(axis) && stopped(watch)) {
      all.left.emplace_back(axis.name);
    } else {
      all.found.push_back(std::move(found));
    }
  }
  return all;
}

}  // namespace shardplan
