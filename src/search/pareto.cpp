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
                                       const std::optional<Bytes<>>& free) {
  Question question = estimator.question();
  if (free) {
    question.cluster.reserve_fixed.value += *free + (estimator.usable<double>() - *free) * kSame;
    if (!(question.cluster.usable() > bytes(0))) return std::nullopt;
  }
  const auto best = fastest(Estimator(question), question.fixed, layouts).best;
  if (!best) return std::nullopt;
  return estimator.complete(best->plan, best->memory, best->fullest_stage);
}

/// Adds what no plan of the list, all on no more GPUs, beats.
void add_size(const Question& question, std::vector<Estimate>& front) {
  const Estimator estimator(question);
  const std::vector<BoundedLayout> layouts = bounded_layouts(estimator, question.fixed);
  if (layouts.empty()) return;
  // No step is shorter: what leaves less than a plan of fewer GPUs that is as fast need not be looked for.
  const double least = layouts.front().per_sequence * static_cast<double>(question.workload.global_batch);
  std::optional<Bytes<>> free = most_free(front, seconds(least * (1 - kSame)));
  const std::size_t fewer = front.size();
  while (const auto next = fastest_beyond(estimator, layouts, free)) {
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

std::vector<Estimate> pareto_front(const GpuRange& range, const Question& largest,
                                   const QuestionOfSize& question_of) {
  std::vector<Estimate> front;
  for (const std::int64_t gpus : legal_sizes(range, largest)) add_size(question_of(gpus), front);
  return front;
}

}  // namespace shardplan
