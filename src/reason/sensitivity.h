// The tornado of a step: the inputs that move its time most, each alone, the plan as it is.
//
//   sensitivity(estimator, best).front()
//   // {"gemm_efficiency_bf16", now 0.7785, from 0.7646 to 0.7926, step 55.7 s to 54.2 s, "fit +- 1.8 %"}
//
// An input is taken as far off as its source says it may be (catalog/spread.h), else at 0.9 and 1.1 of what
// it is; no further than it can go. Where a step then has other tokens (sequence, batch), its time is for as
// many tokens as before. Inputs that move nothing are left out. Not here: where another plan becomes the best
// (thresholds.h).
#pragma once

#include <vector>

#include "reason/answer.h"

namespace shardplan {

std::vector<Sensitivity> sensitivity(const Estimator& estimator, const Estimate& best);

}  // namespace shardplan
