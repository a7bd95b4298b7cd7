#include "reason/run_answer.h"

namespace shardplan {

SizeChoice choose_size(const PlanQuestion& asked, const SearchOptions& options) {
  SizeChoice choice{asked.question, std::nullopt};
  if (!asked.sizes) return choice;
  choice.sizes = SizesAnswer{
      *asked.sizes, best_size(*asked.sizes, asked.objective, asked.question, asked.of_size, options)};
  if (const std::int64_t gpus = choice.sizes->search.gpus; gpus > 0) choice.question = asked.of_size(gpus);
  return choice;
}

SearchResult search_chosen(const Estimator& estimator, const SizeChoice& choice,
                           const SearchOptions& options) {
  SearchResult result;
  result.stopped = choice.stopped();
  if (!result.stopped) result = search(estimator, choice.question.fixed, options);
  if (result.stopped && choice.sizes && choice.sizes->search.best) {
    result.best = choice.sizes->search.best;
    result.runners_up.clear();
  }
  return result;
}

ParetoFront front_of(const PlanQuestion& asked, SearchWatch* watch) {
  const std::int64_t gpus = asked.question.cluster.gpus;
  return pareto_front(asked.sizes.value_or(GpuRange{gpus, gpus, 1}), asked.question, asked.of_size, watch);
}

RunAnswer run_answer(const Objective& objective, const std::optional<SizesAnswer>& sizes,
                     const std::optional<Estimate>& best) {
  RunAnswer run{objective, sizes, best, std::nullopt, std::nullopt};
  if (best) run.totals = run_totals(objective, *best);
  return run;
}

}  // namespace shardplan
