// What there is to say about the whole run beside one step: which size of the cluster, which precision, how
// long, how much.
//
//   const SizeChoice choice = choose_size(asked);
//   const Estimator estimator(choice.question);
//   SearchResult result = search_chosen(estimator, choice);
//   RunAnswer run = run_answer(asked.objective, choice.sizes, result.best);   // run.totals->cost; run.yes()
//
// Not here: the plan and why (reason/answer.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/run_totals.h"
#include "search/pareto.h"
#include "search/sizes.h"

namespace shardplan {

/// Several sizes, and what came of them.
struct SizesAnswer {
  GpuRange range;
  SizeSearch search;
};

/// One precision of several, on the size that was chosen.
struct PrecisionAnswer {
  std::string name;
  std::string impossible;        // why there is no question in it; empty where there is
  std::optional<Estimate> best;  // nothing where nothing fits
  bool chosen = false;
};
/// Marks the precision with the best plan, the first of equals; the first possible one where nothing fits.
/// Returns which.
std::size_t choose_precision(std::vector<PrecisionAnswer>& precisions);
/// That a precision is more than its step time.
std::string precision_note(const std::vector<PrecisionAnswer>& precisions);

/// What was asked, on the size and in the precision that are best where there are several.
struct SizeChoice {
  Question question;
  std::optional<SizesAnswer> sizes;
  std::vector<PrecisionAnswer> precisions = {};
  bool stopped() const { return sizes && sizes->search.stopped; }
};
/// Of the options those that say how to search count: threads and watch.
SizeChoice choose_size(const PlanQuestion& asked, const SearchOptions& options = {});

/// The search on that size; whoever stops it has at least the plan for which the size was chosen.
SearchResult search_chosen(const Estimator& estimator, const SizeChoice& choice,
                           const SearchOptions& options = {});

/// The plans that no other beats, on the one size or on all of the range.
ParetoFront front_of(const PlanQuestion& asked, SearchWatch* watch = nullptr);

/// What interruptions and checkpoints make of the totals.
struct Interrupted {
  Ratio<> effective;  // share of the time that goes into steps that count
  std::optional<Seconds<>> time;
  std::optional<Usd<>> cost;
};

struct RunAnswer {
  Objective objective;
  std::optional<SizesAnswer> sizes;
  std::optional<Estimate> best;                  // of the size that was chosen, or of the one that was told
  std::optional<RunTotals> totals;               // of steps that nothing interrupts
  std::optional<Interrupted> interrupted;        // where interruptions are expected
  std::optional<ParetoFront> pareto;             // where it was asked for
  std::vector<PrecisionAnswer> precisions = {};  // where several were asked for
  bool yes() const { return totals && totals->in_time; }
  /// Stopped before any size could be chosen: what is said of one is said of none.
  bool undecided() const { return sizes && sizes->search.stopped && !best; }
};

RunAnswer run_answer(const Objective& objective, const std::optional<SizesAnswer>& sizes,
                     const std::optional<Estimate>& best);
/// Where interruptions of the cluster are known and are expected.
void add_interruptions(const Estimator& estimator, RunAnswer& run);

}  // namespace shardplan
