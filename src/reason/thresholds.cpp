#include "reason/thresholds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "reason/memory_answer.h"
#include "reason/sentence.h"
#include "reason/threshold_hbm.h"
#include "reason/threshold_scan.h"

namespace shardplan {
namespace {

void add_critical_batch(const Question& q, const SearchResult& result, std::vector<Threshold>& found) {
  const double critical = q.workload.critical_batch_tokens;
  if (critical <= 0 || !result.best) return;
  const Plan& p = result.best->plan;
  const double micro_step =
      static_cast<double>(p.dp) * p.micro_batch * static_cast<double>(q.workload.sequence);
  const double most = std::floor(critical / micro_step);
  Sentence then("the critical batch: beyond it more tokens a step buy less than their share; ");
  then << stated_count("micro_batches", most)
       << (most == 1 ? " micro-batch of accumulation stays" : " micro-batches of accumulation stay")
       << " below it";
  Threshold threshold{"batch_tokens", micro_step * p.grad_accumulation, critical, "tokens", then.words()};
  threshold.figures = then.figures();
  found.push_back(std::move(threshold));
}

/// One threshold that is searched for.
struct Sought {
  std::string parameter;
  std::function<std::optional<Threshold>()> find;
};

std::vector<Sought> to_seek(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                            SearchWatch* watch) {
  std::vector<Sought> all;
  if (result.best) {
    const auto scan = std::make_shared<HbmScan>(estimator, fixed, result, watch);
    all.push_back({"hbm", [scan] { return scan->above(); }});
    all.push_back({"hbm", [scan] { return scan->below(); }});
  }
  const auto scan = std::make_shared<ThresholdScan>(estimator, fixed, result, watch);
  for (const ThresholdInput& input : threshold_inputs(estimator.question(), result)) {
    for (const bool up : {true, false}) {
      if (input.directions[up ? 0 : 1])
        all.push_back({input.name, [scan, input, up] { return scan->find(input, up); }});
    }
  }
  return all;
}

}  // namespace

void sort_nearest_first(std::vector<Threshold>& found) {
  std::stable_sort(found.begin(), found.end(), [](const Threshold& a, const Threshold& b) {
    return std::fabs(std::log(a.threshold / a.current)) < std::fabs(std::log(b.threshold / b.current));
  });
}

Thresholds thresholds(const Estimator& estimator, const FixedAxes& fixed, const SearchResult& result,
                      SearchWatch* watch) {
  Thresholds all;
  std::vector<Threshold>& found = all.found;
  add_critical_batch(estimator.question(), result, found);
  const auto& miss = result.census.nearest_miss;  // of all plans the smallest
  if (!result.best && !result.stopped && miss)
    found.push_back(hbm_that_fits(estimator.question().cluster, *miss));
  const std::vector<Sought> sought = to_seek(estimator, fixed, result, watch);
  WatchedItems items(watch, "thresholds", static_cast<std::int64_t>(sought.size()));
  for (const Sought& one : sought) {
    auto threshold = items.next() ? one.find() : std::nullopt;
    if (stopped(watch)) {
      if (all.left.empty() || all.left.back() != one.parameter) all.left.emplace_back(one.parameter);
    } else if (threshold) {
      found.push_back(std::move(*threshold));
    }
  }
  sort_nearest_first(found);
  return all;
}

}  // namespace shardplan
