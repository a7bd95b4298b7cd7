// What makes a term of one plan's step as long as it is, with the numbers that do: bytes, ranks, tier and
// bandwidth of a collective, micro-batches and stages of a bubble.
//
//   term_facts(estimator, estimate, TimeTerm::kTensor)
//   // "20,480 times 32 MiB over 2 ranks, 169.1 us each (20.1 us of it latency); tier node has 360 GB/s"
//
// Not here: the difference between two plans (compare.h).
#pragma once

#include <string>

#include "estimate/estimator.h"

namespace shardplan {

/// Empty where there is nothing to say but its time.
std::string term_facts(const Estimator& estimator, const Estimate& estimate, TimeTerm term);

}  // namespace shardplan
