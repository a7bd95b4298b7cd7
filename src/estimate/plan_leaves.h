// The plan's degrees as formula inputs. Private to estimate/.
#pragma once

#include <cstdint>

#include "catalog/plan.h"
#include "formula/traced.h"

namespace shardplan {

template <class N>
Ratio<N> degree(const char* axis, std::int64_t value) {
  return leaf<N>(axis, static_cast<double>(value), "plan");
}

template <class N>
Ratio<N> sequence_share(const Plan& plan) {
  return plan.sequence_parallel ? degree<N>("sequence-parallel degree", plan.tp)
                                : degree<N>("no sequence parallelism", 1);
}

}  // namespace shardplan
