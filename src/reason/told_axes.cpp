#include "reason/told_axes.h"

#include <algorithm>
#include <string_view>

namespace shardplan {
namespace {

/// What a rule is about.
std::vector<std::string_view> axes_of(Constraint constraint) {
  switch (constraint) {
    case Constraint::kGpuCount:
      return {"dp", "tp", "pp", "cp"};
    case Constraint::kHeads:
      return {"tp"};
    case Constraint::kWidths:
      return {"tp", "etp"};
    case Constraint::kLayers:
      return {"pp", "interleave", "schedule", "first-layers", "last-layers"};
    case Constraint::kSequence:
      return {"cp", "tp", "sp"};
    case Constraint::kExperts:
      return {"ep", "etp"};
    case Constraint::kBatch:
      return {"dp", "micro-batch"};
    case Constraint::kSchedule:
      return {"schedule", "interleave", "pp"};
    case Constraint::kZero:
      return {"zero", "shard-group", "offload"};
    case Constraint::kRankOrder:
      return {"rank-order"};
    default:
      return {};
  }
}

}  // namespace

Error illegal_axes(const Violation& violation, const std::vector<ToldAxis>& told) {
  Error error = illegal_plan(violation);
  const std::vector<std::string_view> axes = axes_of(violation.constraint);
  std::string about, all;
  for (const ToldAxis& one : told) {
    all += (all.empty() ? "" : ", ") + one.flag;
    if (std::find(axes.begin(), axes.end(), one.axis) != axes.end())
      about += (about.empty() ? "" : ", ") + one.flag;
  }
  if (!all.empty()) error.where = about.empty() ? all : about;
  return error;
}

}  // namespace shardplan
