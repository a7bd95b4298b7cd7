#include "estimate/axis_bandwidth.h"

#include "cost/group_collectives.h"

namespace shardplan {

BytesPerSecond<> tier_bandwidth(const Cluster& cluster, std::size_t tier) {
  return cluster_links<double>(cluster)[tier].bandwidth;
}

AxisBandwidth axis_bandwidth(const Cluster& cluster, const AxisCost<>& cost, Seconds<> budget) {
  AxisBandwidth result{tier_bandwidth(cluster, cost.tier), std::nullopt};
  const Seconds<> inner = cost.bandwidth_term - cost.outermost_bandwidth_term;
  const Seconds<> left = budget - inner;
  if (left <= cost.latency_term) return result;
  result.required = call<RequiredBandwidth>(RequiredBandwidth::In<double>{
      result.available, cost.outermost_bandwidth_term, cost.latency_term, left});
  return result;
}

}  // namespace shardplan
