#include "catalog/plan.h"

#include <array>

namespace shardplan {
namespace {

constexpr std::array<const char*, 3> kRecomputeNames{"none", "selective", "full"};
constexpr std::array<const char*, 6> kScheduleNames{"gpipe", "1f1b", "interleaved",
                                                    "zb-h1", "zb-v", "dualpipe"};

template <class Enum, std::size_t Count>
std::optional<Enum> named_value(std::string_view text, const std::array<const char*, Count>& names) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* name(Recompute recompute) { return kRecomputeNames[static_cast<std::size_t>(recompute)]; }
const char* name(Schedule schedule) { return kScheduleNames[static_cast<std::size_t>(schedule)]; }
std::optional<Recompute> recompute_named(std::string_view text) {
  return named_value<Recompute>(text, kRecomputeNames);
}
std::optional<Schedule> schedule_named(std::string_view text) {
  return named_value<Schedule>(text, kScheduleNames);
}

std::string canonical(const Plan& plan) {
  std::string text = "dp" + std::to_string(plan.dp);
  const auto axis = [&](const char* label, int degree) {
    if (degree > 1) text += std::string("·") + label + std::to_string(degree);
  };
  axis("tp", plan.tp);
  axis("pp", plan.pp);
  axis("cp", plan.cp);
  axis("ep", plan.ep);
  axis("etp", plan.etp);
  text += "·z" + std::to_string(plan.zero_stage) + "·mb" + std::to_string(plan.micro_batch);
  axis("ga", plan.grad_accumulation);
  axis("v", plan.interleave);
  if (plan.pp > 1 && plan.schedule != Schedule::k1F1B && plan.schedule != Schedule::kInterleaved) {
    text += std::string("·") + name(plan.schedule);
  }
  if (plan.tp > 1 && !plan.sequence_parallel) text += "·nosp";
  if (plan.recompute != Recompute::kNone) text += std::string("·") + name(plan.recompute);
  return text;
}

}  // namespace shardplan
