// What there is to say about the whole run beside one step: which size of the cluster, which precision, how
// long, how much.
//
//   RunAnswer run = run_answer(objective, sizes, answer);   // run.totals->cost; run.yes()
//
// Not here: the plan and why (reason/answer.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/run_totals.h"
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

struct RunAnswer {
  Objective objective;
  std::optional<SizesAnswer> sizes;
  std::optional<Estimate> best;  // of the size that was chosen, or of the one that was told
  std::optional<RunTotals> totals;
  std::optional<std::vector<Estimate>> pareto;  // where it was asked for
  std::vector<PrecisionAnswer> precisions;      // where several were asked for
  bool yes() const { return totals && totals->in_time; }
};

RunAnswer run_answer(const Objective& objective, std::optional<SizesAnswer> sizes,
                     const std::optional<Estimate>& best);

}  // namespace shardplan
