#include "reason/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reason/sentence.h"
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
  Sentence s("state binds: " + canonical(plan) + " keeps ");
  s << stated("host_need", need) << " on the host of a node, which has " << stated("host", host->value);
  one.broken = BindingConstraint{"state", s.words(), need.raw(), host->value.raw(), "bytes", s.figures()};
  return one;
}

TimeEntry<> scaled(const TimeEntry<>& entry, double scale) {
  return {entry.time * scale, entry.hidden * scale};
}

/// What is the same in each step differs in each sequence.
std::string of_step(const std::string& why, const Plan& plan) {
  return why + (why.empty() ? "" : "; ") + "a step has " + counted(plan.sequences(), "sequence");
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
Sentence terms_said(const Comparison& c, double sign) {
  const bool first = c.step_a <= c.step_b;
  const auto gain = [&](const TimeDifference& t) { return sign * (first ? 1 : -1) * t.more().raw(); };
  double all = 0, named = 0;
  for (const TimeDifference& t : c.time) all += std::max(0.0, gain(t));
  Sentence s;
  std::size_t count = 0;
  for (const TimeDifference& t : c.time) {
    if (gain(t) <= 0 || named >= kMostOf * all || count == kNamed) continue;
    s << (s.empty() ? "" : ", ") << words(t.term) << " " << stated(name(t.term), seconds(gain(t)))
      << (sign > 0 ? " less" : " more");
    named += gain(t);
    ++count;
  }
  return s;
}

Sentence speed_said(const Comparison& c) {
  const bool first = c.step_a <= c.step_b;
  const Seconds<> fast = first ? c.step_a : c.step_b, slow = first ? c.step_b : c.step_a;
  const Plan &faster = (first ? c.a : c.b).estimate.plan, &slower = (first ? c.b : c.a).estimate.plan;
  const std::string of = c.per_sequence ? " a sequence" : " a step";
  Sentence s(canonical(faster));
  if (fast == slow) return s << " and " << canonical(slower) << " both take " << stated("faster", fast) << of;
  s << " is faster: " << stated("faster", fast) << of << " against " << stated("slower", slow) << ", "
    << stated("difference", slow - fast) << " (" << stated_share("difference_share", 1 - (fast / slow).raw())
    << ") less";
  if (const Sentence terms = terms_said(c, 1); !terms.empty()) s << "; " << terms;
  if (const Sentence terms = terms_said(c, -1); !terms.empty()) s << "; on the other side " << terms;
  return s;
}

/// That the two are closer than the model is to what was measured.
std::string band_words(const Comparison& c) {
  if (c.told_apart() || c.step_a == c.step_b) return "";
  return "; not told apart: of " + rows_text(*c.band) + ", " + format_number(10 * kTimeBandShare) +
         " in 10 took " + range_text(*c.band) + " what the model says, and the two are closer than that";
}

void add_broken(const BindingConstraint& broken, Sentence& s) { s.add(broken.statement, broken.figures); }

Sentence fit_said(const Comparison& c) {
  Sentence s;
  if (c.a.fits() && c.b.fits()) return s;
  if (!c.a.fits() && !c.b.fits()) {
    s << "neither fits: ";
    add_broken(*c.a.broken, s);
    if (!(c.a.estimate.plan == c.b.estimate.plan)) {
      s << "; ";
      add_broken(*c.b.broken, s);
    }
    return s << ". ";
  }
  const ComparedPlan &fits = c.a.fits() ? c.a : c.b, &other = c.a.fits() ? c.b : c.a;
  s << canonical(fits.estimate.plan) << " alone fits: ";
  add_broken(*other.broken, s);
  return s << ". ";
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
  const Sentence said = fit_said(c) << speed_said(c) << band_words(c);
  c.statement = said.words();
  c.figures = said.figures();
  return c;
}

}  // namespace shardplan
