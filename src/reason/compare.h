// Why one plan beats another, term by term.
//
//   Comparison c = compare(estimator, a, b);
//   c.statement;             // "dp8·tp8·z1·mb1 is faster: 4.1 s a step against 4.6 s, ..."
//   c.time.front();          // the term that differs most: {kBubble, 0.6 s, 0.1 s, "8 micro-batches ...",
//   ...}
//
// The differences of the terms sum to that of the steps. Where the steps have other sequences, all times are
// for one sequence. Not here: the best of many plans (search/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reason/binding.h"

namespace shardplan {

/// One of the two, worked out whether it fits or not.
struct ComparedPlan {
  Estimate estimate;
  MemoryAccount memory;
  std::optional<BindingConstraint> broken;  // the limit that its memory breaks
  bool fits() const { return !broken; }
};

struct TimeDifference {
  TimeTerm term;
  TimeEntry<> a, b;
  std::string why_a, why_b;  // what makes the term; empty where the plan has none of it
  Seconds<> more() const { return b.exposed() - a.exposed(); }
};

struct MemoryDifference {
  MemoryTerm term;
  Bytes<> a, b;  // of the fullest stage of each
};

struct Comparison {
  ComparedPlan a, b;
  bool per_sequence = false;         // the times below
  Seconds<> step_a, step_b;          // sums of the exposed parts
  std::vector<TimeDifference> time;  // terms that either has, the largest difference first
  std::vector<MemoryDifference> memory;
  std::string statement;  // which is better, by how much, through which terms
  std::vector<StatedFigure> figures;
  /// Of the steps of runs like these; nothing where none was measured.
  std::optional<ErrorBand> band;
  /// By what the band says of either step alone; that of one model on one cluster may be the same for both.
  bool told_apart() const;
  /// The first fits, and the second does not or takes no less.
  bool first_is_better() const { return a.fits() && (!b.fits() || step_a <= step_b); }
};

/// Of two legal plans.
Comparison compare(const Estimator& estimator, const Plan& a, const Plan& b, const Evidence& evidence = {});

}  // namespace shardplan
