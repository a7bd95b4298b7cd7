// The plans that no other plan beats: none is as fast, leaves as much memory free and takes as few GPUs, and
// is better in one of them.
//
//   std::vector<Estimate> front = pareto_front({.least = 8, .most = 64}, largest, question_at);
//   front.front().step;   // by GPUs, then by step time
//
// Exact: on each size the fastest plan, then the fastest of those that leave more free, until there is none.
// Plans with the same three figures are one. Not here: one plan chosen by an objective (search/sizes.h).
#pragma once

#include <vector>

#include "search/sizes.h"

namespace shardplan {

/// `largest`: the question on some size of the range, as best_size takes it.
std::vector<Estimate> pareto_front(const GpuRange& range, const Question& largest,
                                   const QuestionOfSize& question_of);

}  // namespace shardplan
