// The bandwidth that an axis of parallelism needs on the outermost tier it crosses, beside what there is.
//
//   AxisBandwidth b = axis_bandwidth(cluster, estimate.time.axis(Axis::kData), window);
//   b.required   // least bandwidth at which one occurrence takes no longer than the window
//
// Not here: which window or budget is meant (reason/axes.h says it in words).
#pragma once

#include <optional>

#include "catalog/cluster.h"
#include "estimate/estimate.h"

namespace shardplan {

struct AxisBandwidth {
  BytesPerSecond<> available;
  /// None: latency and the inner tiers alone take longer than the budget, no bandwidth helps.
  std::optional<BytesPerSecond<>> required;
};

/// `budget` = how long one occurrence may take.
AxisBandwidth axis_bandwidth(const Cluster& cluster, const AxisCost<>& cost, Seconds<> budget);

/// Bandwidth of a tier per GPU and direction, oversubscription applied.
BytesPerSecond<> tier_bandwidth(const Cluster& cluster, std::size_t tier);

}  // namespace shardplan
