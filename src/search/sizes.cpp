#include "search/sizes.h"

#include <algorithm>
#include <limits>

#include "estimate/run_totals.h"

namespace shardplan {
namespace {

/// Sums in another order differ in their last digits: a bound has to be that much above to exclude.
constexpr double kRounding = 1 + 1e-9;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double d(std::int64_t v) { return static_cast<double>(v); }

bool has_plan(const Space& space, const FixedAxes& fixed) {
  const std::vector<Plan> layouts = space.layouts(fixed);
  return std::any_of(layouts.begin(), layouts.end(),
                     [&](const Plan& layout) { return !space.plans_of(layout, fixed).pipelines.empty(); });
}

double sequences(const Plan& p) { return d(std::int64_t{p.dp} * p.micro_batch * p.grad_accumulation); }

/// Seconds a sequence; where reading the batch sets the pace, to the bit the same on all sizes that keep up.
double per_sequence(const Estimate& e) {
  const TimeEntry<>& loading = e.time[TimeTerm::kLoading];
  return (loading.exposed() > seconds(0) ? loading.time : e.step).raw() / sequences(e.plan);
}

/// What the objective orders, smaller is better: of a size on which a sequence takes so long.
double rank(ObjectiveKind kind, std::int64_t gpus, double sequence_s) {
  switch (kind) {
    case ObjectiveKind::kStepTime:
      break;
    case ObjectiveKind::kTokensPerGpu:
    case ObjectiveKind::kCost:
    case ObjectiveKind::kEnergy:
      return sequence_s * d(gpus);  // what a GPU costs and draws does not depend on how many there are
    case ObjectiveKind::kGpus:
      return d(gpus);
  }
  return sequence_s;
}

/// Seconds a sequence with which a size is as good as `best`.
double limit_of(ObjectiveKind kind, std::int64_t gpus, double best) {
  switch (kind) {
    case ObjectiveKind::kStepTime:
      break;
    case ObjectiveKind::kTokensPerGpu:
    case ObjectiveKind::kCost:
    case ObjectiveKind::kEnergy:
      return best / d(gpus);
    case ObjectiveKind::kGpus:
      return d(gpus) <= best ? kNoLimit : 0;
  }
  return best;
}

class SizeScan {
 public:
  SizeScan(const GpuRange& range, const Objective& objective, const std::vector<QuestionOfSize>& questions)
      : range_(range), objective_(objective), questions_(questions) {}

  SizeSearch run(const Question& largest) {
    const std::vector<std::int64_t> legal = legal_sizes(range_, largest);
    const auto precisions = static_cast<std::int64_t>(questions_.size());
    found_.census.sizes = precisions * range_.count();
    found_.census.illegal = precisions * (range_.count() - static_cast<std::int64_t>(legal.size()));
    if (objective_.deadline && objective_.budget)
      in_time_ = objective_.deadline->raw() * d(largest.workload.sequence) / objective_.budget->raw();
    for (const std::int64_t gpus : legal) {
      for (const QuestionOfSize& question : questions_) bound(gpus, question);
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.gpus < b.gpus;
    });
    for (const Candidate& candidate : candidates_) {
      if (candidate.rank > best_rank_ * kRounding || !search(candidate)) ++found_.census.excluded;
    }
    if (!found_.best && !legal.empty()) found_.gpus = legal.back();
    return found_;
  }

 private:
  struct Candidate {
    double rank = 0;  // nothing on the size is better
    std::int64_t gpus = 0;
    const QuestionOfSize* question = nullptr;
  };

  void bound(std::int64_t gpus, const QuestionOfSize& question_of) {
    const Question question = question_of(gpus);
    const Estimator estimator(question);
    const double least = bounded_layouts(estimator, question.fixed).front().per_sequence;
    if (least > in_time_ * kRounding) {
      ++found_.census.excluded;
    } else {
      candidates_.push_back({rank(objective_.kind, gpus, least), gpus, &question_of});
    }
  }

  /// False where a bound excludes the size after all.
  bool search(const Candidate& candidate) {
    const Question question = (*candidate.question)(candidate.gpus);
    const Estimator estimator(question);
    const double limit = std::min(in_time_, limit_of(objective_.kind, candidate.gpus, best_rank_));
    const SearchResult result = shardplan::search(
        estimator, question.fixed, SearchOptions{.runners_up = 0, .slowest = limit * kRounding});
    if (!result.best && limit < kNoLimit) return false;
    ++found_.census.searched;
    if (result.best) {
      consider(candidate.gpus, *result.best);
    } else {
      ++found_.census.unfit;
    }
    return true;
  }

  void consider(std::int64_t gpus, const Estimate& estimate) {
    if (!run_totals(objective_, estimate).in_time) return;
    const double own = rank(objective_.kind, gpus, per_sequence(estimate));
    if (own > best_rank_ || (own == best_rank_ && gpus > found_.gpus)) return;
    // Of one size, in another precision.
    if (found_.best && gpus == found_.gpus && !better(estimate, *found_.best)) return;
    best_rank_ = own;
    found_.gpus = gpus;
    found_.best = estimate;
  }

  const GpuRange& range_;
  const Objective& objective_;
  const std::vector<QuestionOfSize>& questions_;
  double in_time_ = kNoLimit;  // seconds a sequence that the deadline leaves
  double best_rank_ = kNoLimit;
  std::vector<Candidate> candidates_;
  SizeSearch found_;
};

}  // namespace

std::vector<std::int64_t> legal_sizes(const GpuRange& range, const Question& question) {
  Question probe = question;
  const Space space(probe);  // refers to the probe: what is legal follows its number of GPUs
  std::vector<std::int64_t> sizes;
  for (std::int64_t gpus = range.first(); gpus <= range.most; gpus += range.step) {
    probe.cluster.gpus = gpus;
    if (has_plan(space, probe.fixed)) sizes.push_back(gpus);
  }
  return sizes;
}

SizeSearch best_size(const GpuRange& range, const Objective& objective, const Question& largest,
                     const std::vector<QuestionOfSize>& questions) {
  const SizeSearch found = SizeScan(range, objective, questions).run(largest);
  if (found.best || !objective.deadline) return found;
  Objective soonest = objective;
  soonest.kind = ObjectiveKind::kStepTime;
  soonest.deadline.reset();
  SizeSearch late = SizeScan(range, soonest, questions).run(largest);
  late.in_time = !late.best.has_value();
  return late;
}

std::vector<std::optional<Estimate>> best_of_each(const std::vector<Question>& questions) {
  std::vector<std::optional<Estimate>> best;
  std::optional<Plan> known;
  for (const Question& question : questions) {
    const Estimator estimator(question);
    best.push_back(fastest(estimator, question.fixed, known).best);
    if (best.back()) known = best.back()->plan;
  }
  return best;
}

}  // namespace shardplan
