#include "reason/why_not.h"

#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

/// Where nothing fits at all, the kind is not to blame.
bool nothing_fits(const Estimator& estimator, const FixedAxes& fixed, WhyNot& w) {
  if (w.best.best) return false;
  w.statement =
      "no plan fits, of this kind or any other; " + binding_constraint(estimator, fixed, w.best).statement;
  return true;
}

std::string stopped_words(const WhyNot& w) {
  return w.stopped() ? "; the search was stopped before its end" : "";
}

/// The sentence about a plan of the kind that fits.
std::string compared_words(const WhyNot& w, const Plan& other) {
  const Plan& best = w.best.best->plan;
  if (other == best) return "the best plan is " + w.what + " already: " + canonical(best);
  const Comparison& c = *w.comparison;
  if (w.as_good && c.step_b < c.step_a) {
    return w.what + " is faster than the best plan of what is searched" + (w.with ? "" : " without it") +
           ": " + canonical(other) + " takes " + format(c.step_b) + ", " + canonical(best) + " " +
           format(c.step_a);
  }
  if (w.as_good) {
    return w.what + " is as fast as the best plan: " + canonical(other) + " takes as long as " +
           canonical(best) + ", " + format(c.step_b);
  }
  return w.what + " is slower" + (w.with ? " at its best: " : ": ") + c.statement;
}

void compare_with_best(const Estimator& estimator, const Plan& other, const Evidence& evidence, WhyNot& w) {
  w.comparison = compare(estimator, w.best.best->plan, other, evidence);
  const Comparison& c = *w.comparison;
  w.broken = c.b.broken;
  w.as_good = c.b.fits() && c.step_b <= c.step_a;
}

}  // namespace

WhyNot why_not(const Estimator& estimator, const FixedAxes& fixed, const FixedAxes& with,
               const std::string& what, SearchWatch* watch, const Evidence& evidence) {
  WhyNot w;
  w.what = what;
  w.illegal = why_illegal(estimator.question(), with);
  if (w.illegal) w.statement = "no legal plan has " + what + ": " + w.illegal->where;
  w.best = fastest(estimator, fixed, std::nullopt, watch);
  if (w.illegal || nothing_fits(estimator, fixed, w)) return w;
  w.with = fastest(estimator, with, std::nullopt, watch);
  if (w.with->best) {
    compare_with_best(estimator, w.with->best->plan, evidence, w);
    w.statement = compared_words(w, w.with->best->plan);
  } else {
    w.broken = binding_constraint(estimator, with, *w.with);
    w.statement = "none of the " + count(w.with->census.considered) + " legal plans with " + what +
                  " fits: " + w.broken->statement;
  }
  w.statement += stopped_words(w);
  return w;
}

WhyNot why_not(const Estimator& estimator, const FixedAxes& fixed, const Plan& plan, const std::string& what,
               SearchWatch* watch, const Evidence& evidence) {
  WhyNot w;
  w.what = what;
  w.illegal = estimator.space().violation(plan);
  if (w.illegal) w.statement = what + " is not legal: " + w.illegal->where;
  w.best = fastest(estimator, fixed, w.illegal ? std::nullopt : std::optional(plan), watch);
  if (w.illegal || nothing_fits(estimator, fixed, w)) return w;
  compare_with_best(estimator, plan, evidence, w);
  w.statement = w.broken ? what + " does not fit: " + w.broken->statement : compared_words(w, plan);
  w.statement += stopped_words(w);
  return w;
}

}  // namespace shardplan
