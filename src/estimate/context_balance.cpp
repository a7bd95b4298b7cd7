#include "estimate/context_balance.h"

#include "cost/kernels.h"
#include "estimate/plan_leaves.h"

namespace shardplan {

template <class N>
Ratio<N> ordered_chunks(const Plan& plan) {
  return call<CausalRingImbalance>(CausalRingImbalance::In<N>{degree<N>("context-parallel degree", plan.cp)});
}

template Ratio<double> ordered_chunks<double>(const Plan&);
template Ratio<Traced> ordered_chunks<Traced>(const Plan&);

}  // namespace shardplan
