#include "search/sizes.h"

#include <algorithm>
#include <limits>

#include "estimate/run_totals.h"

namespace shardplan {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double d(std::int64_t v) { return static_cast<double>(v); }

bool has_plan(const Space& space, const FixedAxes& fixed) {
  const std::vector<Plan> layouts = space.layouts(fixed);
  return std::any_of(layouts.begin(), layouts.end(),
                     [&](const Plan& layout) { return !space.plans_of(layout, fixed).pipelines.empty(); });
}

/// Seconds a sequence; where reading the batch sets the pace, to the bit the same on all sizes that keep up.
double per_sequence(const Estimate& e) {
  const TimeEntry<>& loading = e.time[TimeTerm::kLoading];
  return (loading.exposed() > seconds(0) ? loading.time : e.step).raw() / d(e.plan.sequences());
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
  SizeScan(const GpuRange& range, const Objective& objective, const std::vector<QuestionOfSize>& questions,
           const SearchOptions& options)
      : range_(range), objective_(objective), questions_(questions), options_(options) {}

  SizeSearch run(const Question& largest) {
    const std::vector<std::int64_t> legal = legal_sizes(range_, largest, options_.watch);
    SizeCensus& census = found_.census;
    const auto precisions = static_cast<std::int64_t>(questions_.size());
    census.sizes = precisions * range_.count();
    if (!stopped(options_.watch))
      census.illegal = census.sizes - precisions * static_cast<std::int64_t>(legal.size());
    if (objective_.deadline && objective_.budget)
      in_time_ = objective_.deadline->raw() * d(largest.workload.sequence) / objective_.budget->raw();
    bound(legal);
    found_.only_bounded = stopped(options_.watch);
    search_candidates();
    census.left = census.sizes - census.illegal - census.excluded - census.searched;
    found_.stopped = census.left > 0;
    if (!found_.best && !found_.stopped && !legal.empty()) found_.gpus = legal.back();
    return found_;
  }

 private:
  struct Candidate {
    double rank = 0;  // nothing on the size is better
    std::int64_t gpus = 0;
    const QuestionOfSize* question = nullptr;
  };

  void bound(const std::vector<std::int64_t>& legal) {
    WatchedItems sizes(options_.watch, "bounds of sizes", static_cast<std::int64_t>(legal.size()));
    for (const std::int64_t gpus : legal) {
      if (!sizes.next()) return;
      for (const QuestionOfSize& question_of : questions_) bound(gpus, question_of);
    }
  }

  /// The best ones first: what is found on them excludes the others.
  void search_candidates() {
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.gpus < b.gpus;
    });
    WatchedItems sizes(options_.watch, "sizes", static_cast<std::int64_t>(candidates_.size()));
    for (const Candidate& candidate : candidates_) {
      if (candidate.rank > best_rank_ * kRounding) {
        ++found_.census.excluded;
      } else if (sizes.next()) {
        search(candidate);
      }
    }
  }

  void bound(std::int64_t gpus, const QuestionOfSize& question_of) {
    const Question question = question_of(gpus);
    const Estimator estimator(question);
    const std::vector<BoundedLayout> layouts = bounded_layouts(estimator, question.fixed, options_);
    if (stopped(options_.watch)) return;  // some layouts have no bound
    const double least = layouts.front().per_sequence;
    if (least > in_time_ * kRounding) {
      ++found_.census.excluded;
    } else {
      candidates_.push_back({rank(objective_.kind, gpus, least), gpus, &question_of});
    }
  }

  void search(const Candidate& candidate) {
    const Question question = (*candidate.question)(candidate.gpus);
    const Estimator estimator(question);
    const double limit = std::min(in_time_, limit_of(objective_.kind, candidate.gpus, best_rank_));
    const SearchResult result = shardplan::search(estimator, question.fixed,
                                                  SearchOptions{.runners_up = 0,
                                                                .slowest = limit * kRounding,
                                                                .threads = options_.threads,
                                                                .watch = options_.watch});
    if (result.best) consider(candidate, *result.best);
    if (result.stopped) return;
    const bool excluded = !result.best && limit < kNoLimit;  // by a bound after all
    ++(excluded ? found_.census.excluded : found_.census.searched);
    if (!result.best && !excluded) ++found_.census.unfit;
  }

  void consider(const Candidate& candidate, const Estimate& estimate) {
    const std::int64_t gpus = candidate.gpus;
    if (!run_totals(objective_, estimate).in_time) return;
    const double own = rank(objective_.kind, gpus, per_sequence(estimate));
    if (own > best_rank_ || (own == best_rank_ && gpus > found_.gpus)) return;
    // Of one size, in another precision.
    if (found_.best && gpus == found_.gpus && !better(estimate, *found_.best)) return;
    best_rank_ = own;
    found_.gpus = gpus;
    found_.best = estimate;
    found_.question = static_cast<std::size_t>(candidate.question - questions_.data());
  }

  const GpuRange& range_;
  const Objective& objective_;
  const std::vector<QuestionOfSize>& questions_;
  const SearchOptions& options_;
  double in_time_ = kNoLimit;  // seconds a sequence that the deadline leaves
  double best_rank_ = kNoLimit;
  std::vector<Candidate> candidates_;
  SizeSearch found_;
};

}  // namespace

std::vector<std::int64_t> legal_sizes(const GpuRange& range, const Question& question, SearchWatch* watch) {
  Question probe = question;
  const Space space(probe);  // refers to the probe: what is legal follows its number of GPUs
  std::vector<std::int64_t> sizes;
  WatchedItems all(watch, "legal sizes", range.count());
  for (std::int64_t gpus = range.first(); gpus <= range.most && all.next(); gpus += range.step) {
    probe.cluster.gpus = gpus;
    if (has_plan(space, probe.fixed)) sizes.push_back(gpus);
  }
  return sizes;
}

SizeSearch best_size(const GpuRange& range, const Objective& objective, const Question& largest,
                     const std::vector<QuestionOfSize>& questions, const SearchOptions& options) {
  const SizeSearch found = SizeScan(range, objective, questions, options).run(largest);
  if (found.best || !objective.deadline || found.stopped) return found;
  Objective soonest = objective;
  soonest.kind = ObjectiveKind::kStepTime;
  soonest.deadline.reset();
  SizeSearch late = SizeScan(range, soonest, questions, options).run(largest);
  late.in_time = !late.best.has_value();
  return late;
}

std::vector<std::optional<Estimate>> best_of_each(const std::vector<Question>& questions,
                                                  const SearchOptions& options) {
  std::vector<std::optional<Estimate>> best;
  std::optional<Plan> known;
  WatchedItems precisions(options.watch, "precisions", static_cast<std::int64_t>(questions.size()));
  for (const Question& question : questions) {
    precisions.next();
    const Estimator estimator(question);
    best.push_back(fastest(estimator, question.fixed, known, options.watch).best);
    if (best.back()) known = best.back()->plan;
  }
  return best;
}

}  // namespace shardplan
