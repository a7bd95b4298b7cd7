#include "import/question_options.h"

#include <algorithm>

#include "catalog/modules.h"
#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

constexpr std::int64_t kRankMax = 1 << 16;
constexpr double kLoadMax = 1000;
constexpr const char* kModules =
    "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, attention, mlp or all-linear";

/// The first name of a list joined by commas that means nothing.
std::string wrong_name(const std::string& list, const std::vector<std::string>& known) {
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    std::string one = list.substr(from, comma - from);
    if (std::none_of(known.begin(), known.end(), [&](const std::string& k) { return name_key(k) == one; }))
      return one;
    from = comma + 1;
  }
  return list;
}

std::vector<std::string> adapter_names() {
  std::vector<std::string> names{"attention", "mlp", "all-linear"};
  for (int i = 0; i < kAdapterTargetCount; ++i) names.emplace_back(name(static_cast<AdapterTarget>(1 << i)));
  return names;
}

void read_quantized_base(FlagReader& flags, const Catalog& catalog, Question& q) {
  if (!flags.told(&Spec::quantized_base)) return;
  const std::string key = name_key(*flags.text(&Spec::quantized_base));
  std::vector<std::string> names;
  std::string list;
  for (const BlockFormat& format : catalog.quantized_bases) {
    if (format.name == key) q.workload.adapters.base = format;
    names.push_back(format.name);
    list += (list.empty() ? "one of " : ", ") + format.name;
  }
  if (!q.workload.adapters.base) {
    return flags.fail(&Spec::quantized_base, "unknown_name",
                      quoted_flag_text(key) + " is not one of its values", list, nearest_name(key, names));
  }
  if (q.workload.adapters.rank == 0) {
    flags.fail(&Spec::quantized_base, "conflict", "a quantized base is frozen, and nothing else is trained",
               "--lora RANK");
  }
}

std::optional<double> read_load(FlagReader& flags, FlagReader::Member flag) {
  if (!flags.told(flag)) return std::nullopt;
  const std::string& typed = *flags.text(flag);
  const auto value = parse_number(typed);
  if (value && *value >= 1 && *value <= kLoadMax) return value;
  flags.fail(flag, value ? "out_of_range" : "bad_value", quoted_flag_text(typed) + " is no load of a rank",
             "rows of the fullest rank over those of balanced routing, 1 to " + format_number(kLoadMax));
  return std::nullopt;
}

}  // namespace

void read_adapters(FlagReader& flags, const Catalog& catalog, Question& q) {
  if (flags.told(&Spec::lora)) {
    const std::string& typed = *flags.text(&Spec::lora);
    const std::size_t colon = std::min(typed.find(':'), typed.size());
    const Result<std::int64_t> rank = read_whole("--lora", typed.substr(0, colon), 1, kRankMax);
    if (!rank) return flags.fail(rank.error());
    Adapters& adapters = q.workload.adapters;
    adapters.rank = *rank;
    adapters.targets = targets::kAll;
    if (colon == typed.size()) {
      q.assumed.push_back("adapters beside every linear layer (--lora " + typed + ":q_proj,v_proj for some)");
    } else {
      const std::string key = name_key(typed.substr(colon + 1));
      const auto named = adapter_targets_named(key);
      adapters.targets = named.value_or(0);
      if (named) {
        if (auto error = list_error("--lora", flag_parts(key))) flags.fail(*error);
      } else {
        const std::string wrong = wrong_name(key, adapter_names());
        flags.fail(&Spec::lora, "unknown_name", quoted_flag_text(wrong) + " is no layer to adapt",
                   std::string("names of ") + kModules + ", joined by commas",
                   nearest_name(wrong, adapter_names()));
      }
    }
    q.assumed.emplace_back("embeddings, head and norms are frozen too");
  }
  read_quantized_base(flags, catalog, q);
}

void read_expert_load(FlagReader& flags, Question& q) {
  const auto imbalance = read_load(flags, &Spec::expert_imbalance);
  const auto capacity = read_load(flags, &Spec::capacity_factor);
  const FlagReader::Member told = flags.first_told({&Spec::expert_imbalance, &Spec::capacity_factor});
  if (told == nullptr) return;
  if (flags.told(&Spec::expert_imbalance) && flags.told(&Spec::capacity_factor)) {
    return flags.fail(&Spec::capacity_factor, "conflict",
                      "rows padded to a capacity are the same on every rank: there is no imbalance",
                      "one of --capacity-factor and --expert-imbalance");
  }
  if (!has_module(q.model, Module::kMoe)) {
    return flags.fail(told, "unsupported", q.model.name + " has no experts", "a model with experts");
  }
  q.workload.expert_load = imbalance ? *imbalance : capacity.value_or(1);
}

void read_allocation(FlagReader& flags, Question& q) {
  q.workload.expandable_segments = flags.boolean(&Spec::expandable_segments).value_or(false);
  q.workload.unsharded_start = flags.boolean(&Spec::unsharded_start).value_or(false);
}

void read_data_loading(FlagReader& flags, Question& q) {
  if (!flags.told(&Spec::data_loading)) return;
  const Result<Seconds<>> read =
      read_flag<Seconds<>>("--data-loading", *flags.text(&Spec::data_loading), parse_seconds, 1.0,
                           kStepLimits, "s a step, such as 0.4, or with a unit: 400ms");
  if (!read) return flags.fail(read.error());
  q.workload.data_loading = *read;
}

void read_tensor_overlap(FlagReader& flags, Question& q) {
  const auto told =
      flags.choice(&Spec::tp_overlap, {TensorOverlap::kUsual, TensorOverlap::kAsync, TensorOverlap::kOff});
  if (!told) return;
  if (*told == TensorOverlap::kAsync && q.framework.timing.tensor_hidden_async.value <= ratio(0)) {
    return flags.fail(&Spec::tp_overlap, "unsupported",
                      "no run of " + q.framework.name + " with asynchronous tensor parallelism was measured",
                      "usual or off");
  }
  q.workload.kernels.tensor_overlap = *told;
}

std::optional<std::uint8_t> read_offload(FlagReader& flags) {
  if (!flags.told(&Spec::offload)) return std::nullopt;
  const std::string key = name_key(*flags.text(&Spec::offload));
  const auto named = offload_named(key);
  if (named) {
    if (auto error = list_error("--offload", flag_parts(key))) flags.fail(*error);
    return named;
  }
  std::vector<std::string> names;
  names.reserve(kOffloadCount);
  for (int i = 0; i < kOffloadCount; ++i) names.emplace_back(name(static_cast<Offload>(1 << i)));
  const std::string wrong = wrong_name(key, names);
  flags.fail(&Spec::offload, "unknown_name", quoted_flag_text(wrong) + " cannot be offloaded",
             "none, or names of optimizer, params, activations, joined by commas",
             nearest_name(wrong, names));
  return std::nullopt;
}

void check_offload(FlagReader& flags, const Question& q) {
  Plan told;
  told.offload = q.fixed.offload.value_or(0);
  if (told.offload == 0) return;
  if (!q.cluster.device.pcie_bandwidth) {
    return flags.fail(&Spec::offload, "unsupported",
                      "the host link of " + q.cluster.device.name + " is not in the catalog",
                      "another --gpu");
  }
  const bool optimizer = told.offloads(Offload::kOptimizer), params = told.offloads(Offload::kParameters);
  const auto& can = q.framework.offload;
  if (!optimizer && !params) return;
  if (!can) {
    return flags.fail(&Spec::offload, "unsupported",
                      q.framework.name + " keeps its optimizer and parameters on the device",
                      "--offload activations");
  }
  if (params && !can->parameters) {
    return flags.fail(&Spec::offload, "unsupported", q.framework.name + " offloads no parameters",
                      "--offload optimizer");
  }
  if (params != optimizer && (params || can->only_with_parameters)) {
    flags.fail(&Spec::offload, "unsupported",
               q.framework.name + " offloads parameters and optimizer together",
               "--offload optimizer,params");
  }
}

std::string beyond_closed_forms(const Question& q) {
  if (q.workload.adapters.rank > 0) return "frozen weights";
  if (q.workload.expert_load != 1) return "experts";
  return "";
}

}  // namespace shardplan
