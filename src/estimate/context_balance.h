// How even a sequence's chunks are over the ranks that share it, where they are dealt in their order.
//
//   ordered_chunks<double>(plan)   // 1.75 for cp 4: the last rank has as many times the mean attention
//
// Not here: the step's attention, for which chunks are dealt evenly (estimate/layer_time.h).
#pragma once

#include "catalog/plan.h"
#include "formula/traced.h"

namespace shardplan {

template <class N>
Ratio<N> ordered_chunks(const Plan& plan);

}  // namespace shardplan
