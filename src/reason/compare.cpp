#include "reason/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reason/term_facts.h"
#include "reason/term_words.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// Terms of the statement: those that make up this share of what speaks for a plan, and no more than so many.
constexpr double kMostOf = 0.8;
constexpr std::size_t kNamed = 3;

ComparedPlan worked_out(const Estimator& estimator, const Plan& plan) {
  ComparedPlan one;
  int stage = 0;
  const MemoryBreakdown<> memory = estimator.fullest_memory<double>(plan, stage);
  one.estimate = estimator.complete(plan, memory, stage);
  one.memory = estimator.memory_account(plan);
  one.broken = memory_constraint(estimator, plan);
  const auto& host = estimator.question().cluster.host_memory;
  if (one.broken || !host || plan.offload == 0) return one;
  const Bytes<> need = estimator.host_need(plan);
  if (need <= host->value) return one;
  one.broken = BindingConstraint{"state",
                                 "state binds: " + canonical(plan) + " keeps " + format(need) +
                                     " on the host of a node, which has " + format(host->value),
                                 need.raw(), host->value.raw(), "bytes"};
  return one;
}

TimeEntry<> scaled(const TimeEntry<>& entry, double scale) {
  return {entry.time * scale, entry.hidden * scale};
}

/// What is the same in each step differs in each sequence.
std::string of_step(const std::string& why, const Plan& plan) {
  return why + (why.empty() ? "" : "; ") + "a step has " +
         format_count(static_cast<double>(plan.sequences())) + " sequences";
}

void add_time(const Estimator& estimator, double scale_a, double scale_b, Comparison& c) {
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    const TimeEntry<>&a = c.a.estimate.time[term], &b = c.b.estimate.time[term];
    if (a.time.raw() == 0 && b.time.raw() == 0) continue;
    TimeDifference one{term, scaled(a, scale_a), scaled(b, scale_b),
                       term_facts(estimator, c.a.estimate, term), term_facts(estimator, c.b.estimate, term)};
    if (c.per_sequence && one.why_a == one.why_b) {
      one.why_a = of_step(one.why_a, c.a.estimate.plan);
      one.why_b = of_step(one.why_b, c.b.estimate.plan);
    }
    c.time.push_back(std::move(one));
  }
  std::stable_sort(c.time.begin(), c.time.end(), [](const TimeDifference& x, const TimeDifference& y) {
    return std::fabs(x.more().raw()) > std::fabs(y.more().raw());
  });
}

void add_memory(Comparison& c) {
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    const auto term = static_cast<MemoryTerm>(i);
    const Bytes<> a = c.a.memory.worst()[term], b = c.b.memory.worst()[term];
    if (a.raw() > 0 || b.raw() > 0) c.memory.push_back({term, a, b});
  }
}

/// The terms of which the faster plan has less (`sign` 1), or more: "pipeline bubble 600 ms less".
std::string terms_words(const Comparison& c, double sign) {
  const bool first = c.step_a <= c.step_b;
  const auto gain = [&](const TimeDifference& t) { return sign * (first ? 1 : -1) * t.more().raw(); };
  double all = 0, named = 0;
  for (const TimeDifference& t : c.time) all += std::max(0.0, gain(t));
  std::string text;
  std::size_t count = 0;
  for (const TimeDifference& t : c.time) {
    if (gain(t) <= 0 || named >= kMostOf * all || count == kNamed) continue;
    text += (text.empty() ? "" : ", ") + std::string(words(t.term)) + " " + format(seconds(gain(t))) +
            (sign > 0 ? " less" : " more");
    named += gain(t);
    ++count;
  }
  return text;
}

std::string speed_words(const Comparison& c) {
  const bool first = c.step_a <= c.step_b;
  const Seconds<> fast = first ? c.step_a : c.step_b, slow = first ? c.step_b : c.step_a;
  const Plan &faster = (first ? c.a : c.b).estimate.plan, &slower = (first ? c.b : c.a).estimate.plan;
  const std::string of = c.per_sequence ? " a sequence" : " a step";
  if (fast == slow)
    return canonical(faster) + " and " + canonical(slower) + " both take " + format(fast) + of;
  std::string text = canonical(faster) + " is faster: " + format(fast) + of + " against " + format(slow) +
                     ", " + format(slow - fast) + " (" + format_percent(1 - (fast / slow).raw()) + ") less";
  if (const std::string terms = terms_words(c, 1); !terms.empty()) text += "; " + terms;
  if (const std::string terms = terms_words(c, -1); !terms.empty()) text += "; on the other side " + terms;
  return text;
}

/// That the two are closer than the model is to what was measured.
std::string band_words(const Comparison& c) {
  if (c.told_apart() || c.step_a == c.step_b) return "";
  return "; not told apart: of " + rows_text(*c.band) + ", " + format_number(10 * kTimeBandShare) +
         " in 10 took " + range_text(*c.band) + " what the model says, and the two are closer than that";
}

std::string fit_words(const Comparison& c) {
  if (c.a.fits() && c.b.fits()) return "";
  if (!c.a.fits() && !c.b.fits()) {
    return "neither fits: " + c.a.broken->statement +
           (c.a.estimate.plan == c.b.estimate.plan ? "" : "; " + c.b.broken->statement) + ". ";
  }
  const ComparedPlan &fits = c.a.fits() ? c.a : c.b, &other = c.a.fits() ? c.b : c.a;
  return canonical(fits.estimate.plan) + " alone fits: " + other.broken->statement + ". ";
}

}  // namespace

bool Comparison::told_apart() const {
  const Seconds<> fast = step_a < step_b ? step_a : step_b, slow = step_a < step_b ? step_b : step_a;
  return !band || band->high(fast.raw()) < band->low(slow.raw());
}

Comparison compare(const Estimator& estimator, const Plan& a, const Plan& b, const Evidence& evidence) {
  Comparison c;
  c.a = worked_out(estimator, a);
  c.b = worked_out(estimator, b);
  c.per_sequence = a.sequences() != b.sequences();
  const auto scale = [&](const Plan& p) {
    return c.per_sequence ? 1 / static_cast<double>(p.sequences()) : 1.0;
  };
  c.step_a = c.a.estimate.step * scale(a);
  c.step_b = c.b.estimate.step * scale(b);
  add_time(estimator, scale(a), scale(b), c);
  add_memory(c);
  // Bands are of models that are trained without offloading: of both plans, or of none.
  c.band = answer_bands(estimator.question(), &a, evidence).step;
  if (!answer_bands(estimator.question(), &b, evidence).step) c.band.reset();
  c.statement = fit_words(c) + speed_words(c) + band_words(c);
  return c;
}

}  // namespace shardplan
