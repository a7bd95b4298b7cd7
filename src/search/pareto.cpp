#include "search/pareto.h"

#include <optional>

namespace shardplan {
namespace {

/// Two amounts of memory, or two times, this near are one.
constexpr double kSame = 1e-9;

/// The most that a plan of the list leaves free among those that take no longer; nothing where none does.
std::optional<Bytes<>> most_free(const std::vector<Estimate>& plans, Seconds<> step) {
  std::optional<Bytes<>> most;
  for (const Estimate& e : plans) {
    if (e.step <= step && (!most || e.headroom() > *most)) most = e.headroom();
  }
  return most;
}

/// The fastest plan that leaves more than `free`: that of devices which have so much less.
std::optional<Estimate> fastest_beyond(const Estimator& estimator, const std::vector<BoundedLayout>& layouts,
                                       const std::optional<Bytes<>>& free, SearchWatch* watch) {
  Question question = estimator.question();
  if (free) {
    question.cluster.reserve_fixed.value += *free + (estimator.usable<double>() - *free) * kSame;
    if (!(question.cluster.usable() > bytes(0))) return std::nullopt;
  }
  const auto best = fastest(Estimator(question), question.fixed, layouts, std::nullopt, watch).best;
  if (!best || stopped(watch)) return std::nullopt;  // the fastest of some plans need not be on the front
  return estimator.complete(best->plan, best->memory, best->fullest_stage);
}

/// Adds what no plan of the list, all on no more GPUs, beats.
void add_size(const Question& question, std::vector<Estimate>& front, SearchWatch* watch,
              WatchedItems& plans) {
  const Estimator estimator(question);
  const std::vector<BoundedLayout> layouts = bounded_layouts(estimator, question.fixed);
  if (layouts.empty()) return;
  // No step is shorter: what leaves less than a plan of fewer GPUs that is as fast need not be looked for.
  const double least = layouts.front().per_sequence * static_cast<double>(question.workload.global_batch);
  std::optional<Bytes<>> free = most_free(front, seconds(least * (1 - kSame)));
  const std::size_t fewer = front.size();
  while (const auto next = fastest_beyond(estimator, layouts, free, watch)) {
    plans.next();
    const auto beaten_by = most_free(front, next->step);
    if (beaten_by && *beaten_by >= next->headroom()) {
      free = beaten_by;
      continue;
    }
    // As fast with more free: where reading the batch sets the pace.
    while (front.size() > fewer && front.back().step >= next->step) front.pop_back();
    front.push_back(*next);
    free = next->headroom();
  }
}

}  // namespace

ParetoFront pareto_front(const GpuRange& range, const Question& largest, const QuestionOfSize& question_of,
                         SearchWatch* watch) {
  ParetoFront front;
  const std::vector<std::int64_t> legal = legal_sizes(range, largest, watch);
  const auto count = static_cast<std::int64_t>(legal.size());
  WatchedItems sizes(count > 1 ? watch : nullptr, "sizes of the front", count);
  WatchedItems plans(count > 1 ? nullptr : watch, "plans of the front", 0);
  for (const std::int64_t gpus : legal) {
    if (!sizes.next() || stopped(watch)) break;
    add_size(question_of(gpus), front.plans, watch, plans);
  }
  front.stopped = stopped(watch);
  return front;
}

}  // namespace shardplan
