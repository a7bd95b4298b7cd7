// The exposed parts of a step, summed by what limits them: the kinds of the contract.
//
//   time_groups(estimate, cluster).front()   // {"compute", "matrix products and attention", 40.1 s}
//
// Not here: which of them binds (binding.h).
#pragma once

#include <string>
#include <vector>

#include "catalog/cluster.h"
#include "estimate/estimate.h"

namespace shardplan {

struct TimeGroup {
  std::string kind;   // compute, hbm_bandwidth, link:<tier>, latency, bubble, host
  std::string words;  // what it is made of, for a sentence
  Seconds<> exposed;
};

/// Largest first; groups without time are left out.
std::vector<TimeGroup> time_groups(const Estimate& estimate, const Cluster& cluster);

/// Matrix products, attention, head and recomputation together.
Seconds<> compute_time(const TimeBreakdown<>& time);

/// Of one occurrence latency takes more than the bytes do.
bool latency_bound(const AxisCost<>& cost);

/// A kind in a sentence: "the network" of link:network, "HBM bandwidth".
std::string kind_words(const std::string& kind);

/// "tensor-parallel traffic".
const char* traffic_words(Axis axis);
/// The term that holds an axis' time.
TimeTerm time_term(Axis axis);

}  // namespace shardplan
