#include "catalog/plan.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shardplan {
namespace {

constexpr std::array<const char*, kModuleCount> kModuleNames{
    "core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"};
constexpr std::array<const char*, kOffloadCount> kOffloadNames{"optimizer", "params", "activations"};
constexpr std::array<const char*, kRankAxes> kRankAxisNames{"tp", "cp", "dp", "pp"};
constexpr std::array<RankOrder::Axes, kRankOrders> kOrders = RankOrder::all();
constexpr std::array<const char*, kSchedules.size()> kScheduleNames{"gpipe", "1f1b", "interleaved",
                                                                    "zb-h1", "zb-v", "dualpipe"};

// By degree. The stage of ZeRO and, of a plan, layers are of other types.
constexpr std::array<std::int32_t Plan::*, kDegreeCount> kPlanMembers{
    &Plan::dp,          &Plan::tp,         &Plan::pp, &Plan::cp,          &Plan::ep, &Plan::etp,
    &Plan::micro_batch, &Plan::interleave, nullptr,   &Plan::shard_group, nullptr,   nullptr};
constexpr std::array<std::optional<std::int32_t> FixedAxes::*, kDegreeCount> kFixedMembers{
    &FixedAxes::dp, &FixedAxes::tp,          &FixedAxes::pp,           &FixedAxes::cp,
    &FixedAxes::ep, &FixedAxes::etp,         &FixedAxes::micro_batch,  &FixedAxes::interleave,
    nullptr,        &FixedAxes::shard_group, &FixedAxes::first_layers, &FixedAxes::last_layers};

template <class Enum, std::size_t Count>
std::optional<Enum> named_value(std::string_view text, const std::array<const char*, Count>& names) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::optional<std::int32_t> layers_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::int32_t layers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layers);
  if (error != std::errc{} || end != text.data() + text.size() || layers < 1) return std::nullopt;
  return layers;
}

}  // namespace

const char* name(Module module) {
  std::size_t bit = 0;
  while ((static_cast<unsigned>(module) >> bit) > 1) ++bit;
  return kModuleNames[bit];
}
const char* name(Offload what) {
  std::size_t bit = 0;
  while ((static_cast<unsigned>(what) >> bit) > 1) ++bit;
  return kOffloadNames[bit];
}
std::optional<std::uint8_t> offload_named(std::string_view text) {
  std::uint8_t found = 0;
  if (text == "none") return found;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const auto* const at = std::find(kOffloadNames.begin(), kOffloadNames.end(), one);
    if (at == kOffloadNames.end()) return std::nullopt;
    found = static_cast<std::uint8_t>(found | 1U << (at - kOffloadNames.begin()));
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}
std::string offload_names(std::uint8_t what) {
  std::string text;
  for (std::size_t i = 0; i < kOffloadNames.size(); ++i) {
    if ((what >> i) & 1) text += (text.empty() ? "" : ",") + std::string(kOffloadNames[i]);
  }
  return text.empty() ? "none" : text;
}
std::string name(const Recompute& recompute) {
  if (recompute == Recompute::kNone) return "none";
  if (recompute == Recompute::kSelective) return "selective";
  if (recompute == Recompute::kFull) return "full";
  if (recompute.kind == Recompute::Kind::kBlock) return "full:" + std::to_string(recompute.layers);
  if (recompute.kind == Recompute::Kind::kUniform) return "uniform:" + std::to_string(recompute.layers);
  std::string text;
  for (std::size_t i = 0; i < kModuleNames.size(); ++i) {
    if ((recompute.modules >> i) & 1) text += (text.empty() ? "" : ",") + std::string(kModuleNames[i]);
  }
  return text;
}
const char* name(Schedule schedule) { return kScheduleNames[static_cast<std::size_t>(schedule)]; }
std::optional<Recompute> recompute_named(std::string_view text) {
  if (text == "none") return Recompute::kNone;
  if (text == "selective") return Recompute::kSelective;
  if (text == "full") return Recompute::kFull;
  if (const auto layers = layers_after(text, "full:")) return Recompute::block(*layers);
  if (const auto layers = layers_after(text, "uniform:")) return Recompute::uniform(*layers);
  std::uint8_t modules = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto module = module_named(text.substr(0, comma));
    if (!module) return std::nullopt;
    modules = static_cast<std::uint8_t>(modules | static_cast<std::uint8_t>(*module));
    if (comma == std::string_view::npos) return Recompute::of_modules(modules);
    text.remove_prefix(comma + 1);
  }
}
std::optional<Module> module_named(std::string_view text) {
  std::string spelled(text);
  std::replace(spelled.begin(), spelled.end(), '-', '_');
  for (std::size_t i = 0; i < kModuleNames.size(); ++i) {
    if (spelled == kModuleNames[i]) return static_cast<Module>(1U << i);
  }
  return std::nullopt;
}
std::optional<Schedule> schedule_named(std::string_view text) {
  return named_value<Schedule>(text, kScheduleNames);
}

const RankOrder::Axes& RankOrder::axes() const { return kOrders[static_cast<std::size_t>(index)]; }

std::string name(RankOrder order) {
  std::string text;
  for (const RankAxis axis : order.axes())
    text += (text.empty() ? "" : "-") + std::string(kRankAxisNames[static_cast<std::size_t>(axis)]);
  return text;
}

std::optional<RankOrder> rank_order_named(std::string_view text) {
  constexpr std::string_view kExperts = "-ep";
  std::string told(text);
  if (const std::size_t at = told.find(kExperts); at != std::string::npos) told.erase(at, kExperts.size());
  for (std::size_t i = 0; i < kRankOrders; ++i) {
    const RankOrder order{static_cast<std::int8_t>(i)};
    if (name(order) == told) return order;
  }
  return std::nullopt;
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
  axis("sg", plan.shard_group);
  axis("ga", plan.grad_accumulation);
  axis("v", plan.interleave);
  axis("group", plan.micro_batch_group);
  if (plan.first_layers != Plan::kEven) text += "·first" + std::to_string(plan.first_layers);
  if (plan.last_layers != Plan::kEven) text += "·last" + std::to_string(plan.last_layers);
  if (plan.pp > 1 && plan.schedule != Schedule::k1F1B && plan.schedule != Schedule::kInterleaved) {
    text += std::string("·") + name(plan.schedule);
  }
  if (plan.tp > 1 && !plan.sequence_parallel) text += "·nosp";
  if (plan.recompute != Recompute::kNone) text += std::string("·") + name(plan.recompute);
  if (!plan.rank_order.usual()) text += "·" + name(plan.rank_order);
  if (plan.offload != 0) text += "·offload:" + offload_names(plan.offload);
  return text;
}

const char* name(Degree degree) {
  static constexpr std::array<const char*, kDegreeCount> kNames{
      "dp",          "tp",         "pp",   "cp",          "ep",           "etp",
      "micro-batch", "interleave", "zero", "shard-group", "first-layers", "last-layers"};
  return kNames[static_cast<std::size_t>(degree)];
}

std::int32_t degree_of(const Plan& plan, Degree degree) {
  if (degree == Degree::kZero) return plan.zero_stage;
  if (degree == Degree::kShardGroup) {
    if (plan.zero_stage == 0) return 1;
    return plan.shard_group > 0 ? plan.shard_group : static_cast<std::int32_t>(plan.replicas());
  }
  if (degree == Degree::kFirstLayers) return plan.first_layers;
  if (degree == Degree::kLastLayers) return plan.last_layers;
  return plan.*kPlanMembers[static_cast<std::size_t>(degree)];
}

void set_degree(Plan& plan, Degree degree, std::int32_t value) {
  if (degree == Degree::kZero) {
    plan.zero_stage = static_cast<std::int8_t>(value);
  } else if (degree == Degree::kFirstLayers) {
    plan.first_layers = static_cast<std::int16_t>(value);
  } else if (degree == Degree::kLastLayers) {
    plan.last_layers = static_cast<std::int16_t>(value);
  } else {
    plan.*kPlanMembers[static_cast<std::size_t>(degree)] = value;
  }
}

std::string words(Degree degree, const DegreeBounds& bounds) {
  const std::int32_t least = std::max(bounds.least, lowest(degree));
  const std::string from = std::to_string(least);
  std::string to = std::to_string(bounds.most);
  if (bounds.most == DegreeBounds{}.most) return "at least " + from;
  if (least == bounds.most) return to;
  return least == lowest(degree) ? "at most " + to : "from " + from + " to " + to;
}

std::optional<std::int32_t> FixedAxes::told(Degree degree) const {
  if (degree == Degree::kZero) return zero_stage ? std::optional<std::int32_t>(*zero_stage) : std::nullopt;
  const auto value = this->*kFixedMembers[static_cast<std::size_t>(degree)];
  // No group is all replicas, however many they are; a chunk that is as the others has as many as they.
  return value == 0 ? std::nullopt : value;
}

bool FixedAxes::bounds_ends() const {
  return !(bounds_of(Degree::kFirstLayers) == DegreeBounds{} &&
           bounds_of(Degree::kLastLayers) == DegreeBounds{});
}

void FixedAxes::tell(Degree degree, std::int32_t value) {
  if (degree == Degree::kZero) {
    zero_stage = static_cast<std::int8_t>(value);
  } else {
    this->*kFixedMembers[static_cast<std::size_t>(degree)] = value;
  }
}

}  // namespace shardplan
