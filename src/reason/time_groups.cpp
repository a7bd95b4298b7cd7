#include "reason/time_groups.h"

#include <algorithm>

namespace shardplan {
namespace {

void add(std::vector<TimeGroup>& groups, const std::string& kind, const std::string& words,
         Seconds<> exposed) {
  if (exposed.raw() <= 0) return;
  for (TimeGroup& group : groups) {
    if (group.kind != kind) continue;
    group.exposed += exposed;
    group.words += " and " + words;
    return;
  }
  groups.push_back({kind, words, exposed});
}

}  // namespace

bool latency_bound(const AxisCost<>& cost) {
  // The larger half.
  constexpr double kLatencyHalf = 0.5;
  const Seconds<> total = cost.once();
  return total.raw() > 0 && (cost.group.cost.latency_term / total).raw() > kLatencyHalf;
}

std::string kind_words(const std::string& kind) {
  const std::string link = "link:", network = "network";
  if (kind == "hbm_bandwidth") return "HBM bandwidth";
  if (!kind.starts_with(link)) return kind;
  const std::string tier = kind.substr(link.size());
  return "the " + (tier == network ? network : tier + "'s link");
}

const char* traffic_words(Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return "tensor-parallel traffic";
    case Axis::kContext:
      return "context-parallel traffic";
    case Axis::kExpert:
      return "expert all-to-all traffic";
    case Axis::kData:
      return "gradient and weight traffic";
    case Axis::kPipeline:
      return "pipeline sends";
  }
  return "?";
}

TimeTerm time_term(Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return TimeTerm::kTensor;
    case Axis::kContext:
      return TimeTerm::kContext;
    case Axis::kExpert:
      return TimeTerm::kExpert;
    case Axis::kData:
      return TimeTerm::kData;
    case Axis::kPipeline:
      break;
  }
  return TimeTerm::kPipelineSends;
}

Seconds<> compute_time(const TimeBreakdown<>& time) {
  return time[TimeTerm::kGemm].exposed() + time[TimeTerm::kAttention].exposed() +
         time[TimeTerm::kLogits].exposed() + time[TimeTerm::kRecompute].exposed();
}

std::vector<TimeGroup> time_groups(const Estimate& estimate, const Cluster& cluster) {
  const TimeBreakdown<>& time = estimate.time;
  std::vector<TimeGroup> groups;
  const bool again = time[TimeTerm::kRecompute].exposed().raw() > 0;
  add(groups, "compute",
      again ? "matrix products, attention and recomputation" : "matrix products and attention",
      compute_time(time));
  add(groups, "hbm_bandwidth", "kernels that wait for HBM",
      time[TimeTerm::kMemoryBound].exposed() + time[TimeTerm::kOptimizer].exposed());
  add(groups, "bubble", "pipeline bubble and uneven stages",
      time[TimeTerm::kBubble].exposed() + time[TimeTerm::kImbalance].exposed());
  add(groups, "host", "waiting for the host and for the slowest rank",
      time[TimeTerm::kLaunch].exposed() + time[TimeTerm::kStep].exposed() +
          time[TimeTerm::kStragglers].exposed());
  add(groups, "host", "waiting for the batch", time[TimeTerm::kLoading].exposed());
  add(groups, "host", "copies to host memory and the optimizer step there",
      time[TimeTerm::kOffload].exposed());
  for (std::size_t i = 0; i < kAxisCount; ++i) {
    const Axis axis = static_cast<Axis>(i);
    const AxisCost<>& cost = time.axis(axis);
    const std::string kind =
        latency_bound(cost) ? "latency" : "link:" + cluster.tiers[cost.group.paced_by].name;
    add(groups, kind, traffic_words(axis), time[time_term(axis)].exposed());
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TimeGroup& a, const TimeGroup& b) { return a.exposed > b.exposed; });
  return groups;
}

}  // namespace shardplan
