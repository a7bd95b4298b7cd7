// The plans that no other plan beats: none is as fast, leaves as much memory free and takes as few GPUs, and
// is better in one of them.
//
//   ParetoFront front = pareto_front({.least = 8, .most = 64}, largest, question_at);
//   front.plans.front().step;   // by GPUs, then by step time
//
// Exact: on each size the fastest plan, then the fastest of those that leave more free, until there is none.
// Plans with the same three figures are one. Not here: one plan chosen by an objective (search/sizes.h).
#pragma once

#include <vector>

#include "search/sizes.h"

namespace shardplan {

struct ParetoFront {
  std::vector<Estimate> plans;
  bool stopped = false;  // before its end: those on more GPUs, or that leave more free, are not all there
};

/// `largest`: the question on some size of the range, as best_size takes it.
ParetoFront pareto_front(const GpuRange& range, const Question& largest, const QuestionOfSize& question_of,
                         SearchWatch* watch = nullptr);

}  // namespace shardplan
