// A plan's numbers with how they were made: what an explanation of it starts from.
//
//   explain_text(plan_trace(estimator, result, objective).roots())
//
// The plan is estimated once more, in Traced. Not here: how a trace is printed (explain.h, html_formulas.h).
#pragma once

#include "catalog/objective.h"
#include "estimate/estimator.h"
#include "report/explain.h"
#include "search/search.h"

namespace shardplan {

/// Each by its name; terms that are 0 are left out.
struct PlanTrace {
  TraceRoots headline;  // "step", "throughput", "MFU", "HFU", "memory left free"
  TraceRoots time;      // exposed, by term
  TraceRoots memory;    // of the fullest stage, or of the one that misses
  TraceRoots run;       // "effective time" where it is said; "run", "cost", as far as they were asked for
  /// All of them.
  TraceRoots roots() const;
};

/// Of the best plan; where none fits, the memory of the one that comes closest.
PlanTrace plan_trace(const Estimator& estimator, const SearchResult& result, const Objective& objective);

}  // namespace shardplan
