#include "estimate/axis_bandwidth.h"

#include "cost/group_collectives.h"

namespace shardplan {

BytesPerSecond<> tier_bandwidth(const Cluster& cluster, std::size_t tier) {
  return cluster_links<double>(cluster)[tier].bandwidth;
}

AxisBandwidth axis_bandwidth(const Cluster& cluster, const AxisCost<>& cost, Seconds<> budget) {
  const GroupCost<>& group = cost.group;
  AxisBandwidth result{tier_bandwidth(cluster, group.paced_by), std::nullopt};
  const Seconds<> inner = group.cost.bandwidth_term - group.paced_bandwidth_term;
  const Seconds<> left = budget - inner;
  if (left <= group.cost.latency_term) return result;
  result.required = call<RequiredBandwidth>(RequiredBandwidth::In<double>{
      result.available, group.paced_bandwidth_term, group.cost.latency_term, left});
  return result;
}

}  // namespace shardplan
