#include "estimate/comm_sweep.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

constexpr double kNear = 1.001;  // sizes this close are one

CommSweepPoint point_at(const CommQuestion& question, Bytes<> size) {
  CommQuestion q = question;
  q.parameters.reset();
  q.step.reset();
  q.size.value = size;
  const CommCost<> cost = comm_cost<double>(q);
  const CommWay<>& best = cost.best();
  CommSweepPoint point{size, best.algorithm, best.protocol, best.time(), {}, {}};
  if (!(point.time > seconds(0))) return point;
  point.algorithm_bandwidth = size / point.time;
  point.bus_bandwidth =
      bus_factor(q.collective, static_cast<std::int64_t>(q.ranks.value.raw())) * point.algorithm_bandwidth;
  return point;
}

bool same_way(const CommSweepPoint& a, const CommSweepPoint& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

std::vector<CommSweepPoint> points_of(const CommQuestion& question, const SizeRange& range) {
  std::vector<CommSweepPoint> points;
  Bytes<> size = range.low;
  for (; size <= range.high; size = 2.0 * size) points.push_back(point_at(question, size));
  // The end, where doubling does not meet it: 8 B doubled passes 16 GB by.
  if (points.back().size.raw() * kNear < range.high.raw()) points.push_back(point_at(question, range.high));
  return points;
}

/// Halves the gap (on a log scale) until the two ways meet; ways that win only in between are met too.
void add_switches(const CommQuestion& question, const CommSweepPoint& low, const CommSweepPoint& high,
                  std::vector<CommSwitch>& switches) {
  if (same_way(low, high)) return;
  if (high.size.raw() <= low.size.raw() * kNear) {
    switches.push_back({high.size, high.algorithm, high.protocol});
    return;
  }
  const CommSweepPoint middle =
      point_at(question, bytes(std::sqrt(low.size.raw()) * std::sqrt(high.size.raw())));
  add_switches(question, low, middle, switches);
  add_switches(question, middle, high, switches);
}

std::vector<CommSwitch> switches_of(const CommQuestion& question, const std::vector<CommSweepPoint>& points) {
  std::vector<CommSwitch> switches;
  if (points.empty()) return switches;
  switches.push_back({points.front().size, points.front().algorithm, points.front().protocol});
  for (std::size_t i = 1; i < points.size(); ++i) add_switches(question, points[i - 1], points[i], switches);
  return switches;
}

}  // namespace

Ratio<> bus_factor(Collective collective, std::int64_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return ratio(2 * (n - 1) / n);
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return ratio((n - 1) / n);
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      break;
  }
  return ratio(1);
}

CommSweep sweep_comm(const CommQuestion& question, const SizeRange& range) {
  CommSweep sweep{question, points_of(question, range), {}};
  sweep.switches = switches_of(question, sweep.points);
  return sweep;
}

std::vector<CommSwitch> comm_switches(const CommQuestion& question, const SizeRange& range) {
  return switches_of(question, points_of(question, range));
}

}  // namespace shardplan
