// Why the best plan is not one of a kind: the best of all beside the best with what was asked for.
//
//   WhyNot w = why_not(estimator, fixed, with, "tp16");
//   w.statement;    // "tp16 is slower at its best: dp4·tp8·... is faster: 4.1 s a step against ..."
//   w.comparison;   // of the two, term by term
//
// Not here: what the kind says (import/compare_question.h), which terms differ (compare.h).
#pragma once

#include <optional>
#include <string>

#include "reason/compare.h"

namespace shardplan {

struct WhyNot {
  std::string what;                  // as it was asked for
  SearchResult best;                 // of all plans
  std::optional<SearchResult> with;  // of those of the kind; nothing where it is one whole plan
  bool stopped() const { return best.stopped || (with && with->stopped); }
  /// What keeps the kind from having a plan at all, a rule or a limit of memory.
  std::optional<Violation> illegal;
  std::optional<BindingConstraint> broken;
  /// The best of all (a) and the best of the kind (b), where there are both.
  std::optional<Comparison> comparison;
  bool as_good = false;  // the kind has a plan that fits and takes no longer
  std::string statement;
};

/// `with`: the axes of the kind beside those of the question.
WhyNot why_not(const Estimator& estimator, const FixedAxes& fixed, const FixedAxes& with,
               const std::string& what, SearchWatch* watch = nullptr, const Evidence& evidence = {});
/// Of one whole plan.
WhyNot why_not(const Estimator& estimator, const FixedAxes& fixed, const Plan& plan, const std::string& what,
               SearchWatch* watch = nullptr, const Evidence& evidence = {});

}  // namespace shardplan
