// The one thing in the way: the largest part of the best plan's step, or the memory limit that no plan
// keeps, as an inequality with both sides.
//
//   binding_constraint(estimator, fixed, search(estimator, fixed)).statement
//   // "state binds: state under any plan is at least 325.96 GiB on each of 8 GPUs, usable is 182.3 GiB; ..."
#pragma once

#include "reason/answer.h"

namespace shardplan {

BindingConstraint binding_constraint(const Estimator& estimator, const FixedAxes& fixed,
                                     const SearchResult& result);

/// The limit that one plan's memory breaks, whatever other plans do; nothing when it fits.
std::optional<BindingConstraint> memory_constraint(const Estimator& estimator, const Plan& plan);

/// The contract's word for a memory constraint: working buffers count with the activations they serve.
const char* memory_kind(Constraint constraint);

}  // namespace shardplan
