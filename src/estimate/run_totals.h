// What a whole run takes under a plan: time, money and energy, as far as tokens, price and watts were told.
//
//   RunTotals run = run_totals(objective, estimate);
//   run.time;          // of the 15 T tokens
//   run.in_time;       // by the deadline, where there is one
//
// Not here: which size of cluster is best by them (search/sizes.h).
#pragma once

#include <optional>

#include "catalog/objective.h"
#include "estimate/estimate.h"

namespace shardplan {

struct RunTotals {
  std::optional<Seconds<>> time;           // of the budget of tokens
  std::optional<Usd<>> cost;               // of the budget
  std::optional<double> joules;            // of the budget
  std::optional<UsdPerSecond<>> spending;  // of all GPUs
  std::optional<Usd<>> cost_of_token;
  std::optional<double> joules_of_token;
  bool in_time = true;
};
RunTotals run_totals(const Objective& objective, const Estimate& estimate);

/// With N = Traced, with its explanation. `budget`: of the run, or of one token.
template <class N>
Seconds<N> run_time(Tokens<> budget, const Estimate& estimate);
/// The price must be told.
template <class N>
Usd<N> run_cost(const Seconds<N>& time, const Objective& objective, const Estimate& estimate);

/// What the objective makes best, of a plan: in seconds, tokens/s, USD, J, USD or J for each token where no
/// budget was told, or GPUs. Its price, watts or budget must be there.
struct ObjectiveValue {
  double value = 0;
  const char* unit = "";
};
ObjectiveValue objective_value(const Objective& objective, const Estimate& estimate);

}  // namespace shardplan
