#include "reason/told_axes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "units/format.h"

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

/// Values that a degree may be moved to, nearest first: those that could divide what it has to.
std::vector<std::int32_t> values_near(const Question& question, Degree degree, std::int32_t told) {
  constexpr std::size_t kTried = 24;
  std::vector<std::int32_t> values;
  if (degree == Degree::kZero) {
    for (std::int32_t stage = 0; stage <= 3; ++stage) values.push_back(stage);
  } else {
    for (const std::int64_t way : divisors(question.cluster.gpus))
      values.push_back(static_cast<std::int32_t>(way));
    for (std::int32_t near = std::max(1, told - 2); near <= told + 2; ++near) values.push_back(near);
  }
  std::erase(values, told);
  std::sort(values.begin(), values.end(), [&](std::int32_t a, std::int32_t b) {
    const auto far = [&](std::int32_t v) { return std::fabs(std::log((v + 1.0) / (told + 1.0))); };
    return far(a) != far(b) ? far(a) < far(b) : a < b;
  });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kTried) values.resize(kTried);
  return values;
}

struct LegalValue {
  std::string flag;
  double factor = 0;  // from what was told
};

/// Nothing where no value of this axis alone makes a plan legal.
std::optional<LegalValue> nearest_value(const Question& question, const FixedAxes& fixed, Degree degree,
                                        const ToldAxis& told) {
  const std::optional<std::int32_t> now = fixed.told(degree);
  if (!now) return std::nullopt;
  const Space space(question);
  for (const std::int32_t value : values_near(question, degree, *now)) {
    FixedAxes other = fixed;
    other.tell(degree, value);
    if (space.count(other) == 0) continue;
    const bool in_list = told.flag.find(' ') != std::string::npos;  // "--fix tp"
    return LegalValue{told.flag + (in_list ? "=" : " ") + std::to_string(value),
                      std::fabs(std::log((value + 1.0) / (*now + 1.0)))};
  }
  return std::nullopt;
}

/// The number of GPUs nearest to the question's that some plan divides; of two as near the smaller one.
std::optional<std::int64_t> nearest_size(Question question, const FixedAxes& fixed) {
  constexpr std::int64_t kFarthest = 4096;
  const std::int64_t told = question.cluster.gpus;
  for (std::int64_t far = 1; far <= kFarthest; ++far) {
    for (const std::int64_t gpus : {told - far, told + far}) {
      question.cluster.gpus = gpus;
      if (gpus > 0 && Space(question).count(fixed) > 0) return gpus;
    }
  }
  return std::nullopt;
}

/// Nobody told an axis: it is the number of GPUs that divides into none.
Error illegal_size(const Question& question, const FixedAxes& fixed) {
  const auto size = nearest_size(question, fixed);
  return {"illegal_plan",
          counted(question.cluster.gpus, "GPU") + (question.cluster.gpus == 1 ? " divides" : " divide") +
              " into no plan of this model and batch",
          "--gpus", "a number that tp, pp, cp and dp divide the model and the batch by",
          size ? "--gpus " + std::to_string(*size) : ""};
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

Error illegal_axes(const Question& question, const FixedAxes& fixed, const Violation& violation,
                   const std::vector<ToldAxis>& told) {
  if (told.empty()) return illegal_size(question, fixed);
  Error error = illegal_axes(violation, told);
  std::optional<LegalValue> nearest;
  for (std::size_t i = 0; i < kDegreeCount; ++i) {
    const auto degree = static_cast<Degree>(i);
    for (const ToldAxis& one : told) {
      if (one.axis != name(degree)) continue;
      const auto found = nearest_value(question, fixed, degree, one);
      if (found && (!nearest || found->factor < nearest->factor)) nearest = found;
    }
  }
  if (nearest) error.nearest = nearest->flag;
  return error;
}

}  // namespace shardplan
