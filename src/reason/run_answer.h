// What there is to say about the whole run beside one step: which size of the cluster, how long, how much.
//
//   RunAnswer run = run_answer(objective, sizes, answer);   // run.totals->cost; run.yes()
//
// Not here: the plan and why (reason/answer.h).
#pragma once

#include <optional>
#include <vector>

#include "estimate/run_totals.h"
#include "search/sizes.h"

namespace shardplan {

/// Several sizes, and what came of them.
struct SizesAnswer {
  GpuRange range;
  SizeSearch search;
};

struct RunAnswer {
  Objective objective;
  std::optional<SizesAnswer> sizes;
  std::optional<Estimate> best;  // of the size that was chosen, or of the one that was told
  std::optional<RunTotals> totals;
  std::optional<std::vector<Estimate>> pareto;  // where it was asked for
  bool yes() const { return totals && totals->in_time; }
};

RunAnswer run_answer(const Objective& objective, std::optional<SizesAnswer> sizes,
                     const std::optional<Estimate>& best);

}  // namespace shardplan
