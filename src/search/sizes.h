// The cluster size that an objective makes best, of all sizes of a range, and the best plan on it; and the
// best plans of one question in several precisions.
//
//   SizeSearch found = best_size({.least = 1, .most = 16384}, objective, largest, {question_at});
//   found.gpus;            // 1,024
//   found.best->plan;      // the fastest plan there
//   found.census.excluded; // sizes on which no plan can be better, by a bound
//
// On one size every objective prefers the fastest plan, which search.h finds; a size is left out only where
// a bound shows that nothing on it is better. Equally good sizes: the fewest GPUs. Not here: how a question
// is put on another size (import/plan_question.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catalog/plan_question.h"
#include "search/search.h"

namespace shardplan {

/// What became of the sizes, each once in every precision: sizes = illegal + excluded + searched + left.
struct SizeCensus {
  std::int64_t sizes = 0;
  std::int64_t illegal = 0;   // no plan is legal
  std::int64_t excluded = 0;  // no plan is better than the best, by a bound, whether it fits or not
  std::int64_t searched = 0;
  std::int64_t unfit = 0;  // of those searched: all plans were looked at, and nothing fits
  std::int64_t left = 0;   // not looked at, or not to the end, as the search was stopped
};

struct SizeSearch {
  /// Of the best; where nothing fits, the largest size with a legal plan; 0 where there is none, and where
  /// the search was stopped before a plan was found.
  std::int64_t gpus = 0;
  std::optional<Estimate> best;  // on that size
  std::size_t question = 0;      // of those that were asked, the one it is of
  bool in_time = true;           // false: no size meets the deadline, and the best is the fastest
  bool stopped = false;          // before its end: what it holds is of the sizes that were looked at
  bool only_bounded = false;     // it was stopped before the first size was searched
  SizeCensus census;
};

/// `largest`: the question on some size of the range; only the number of GPUs differs on the others.
/// `questions`: the same in each of several precisions, of which one is enough; the plans that are legal do
/// not depend on it. Of the options those that say how to search count: threads and watch.
SizeSearch best_size(const GpuRange& range, const Objective& objective, const Question& largest,
                     const std::vector<QuestionOfSize>& questions, const SearchOptions& options = {});

/// The best plan of each question; nothing where none fits. They differ in their precision alone: what a plan
/// reaches in one excludes slower ones in the next.
std::vector<std::optional<Estimate>> best_of_each(const std::vector<Question>& questions,
                                                  const SearchOptions& options = {});

/// The sizes of a range on which some plan is legal, increasing; where it is stopped, the first of them.
std::vector<std::int64_t> legal_sizes(const GpuRange& range, const Question& question,
                                      SearchWatch* watch = nullptr);

}  // namespace shardplan
