#include "reason/run_answer.h"

#include <utility>

namespace shardplan {

RunAnswer run_answer(const Objective& objective, std::optional<SizesAnswer> sizes,
                     const std::optional<Estimate>& best) {
  RunAnswer run{objective, std::move(sizes), best, std::nullopt, std::nullopt};
  if (best) run.totals = run_totals(objective, *best);
  return run;
}

}  // namespace shardplan
