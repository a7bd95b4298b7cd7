#include "catalog/adapters.h"

#include <algorithm>
#include <array>

namespace shardplan {
namespace {

struct Named {
  const char* name;
  std::uint8_t targets;
};
constexpr std::array<Named, kAdapterTargetCount + 3> kNames{{{"q_proj", 1},
                                                             {"k_proj", 2},
                                                             {"v_proj", 4},
                                                             {"o_proj", 8},
                                                             {"gate_proj", 16},
                                                             {"up_proj", 32},
                                                             {"down_proj", 64},
                                                             {"attention", targets::kAttention},
                                                             {"mlp", targets::kMlp},
                                                             {"all-linear", targets::kAll}}};

/// "-" and "_" are alike.
std::string spelled(std::string_view text) {
  std::string key(text);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace

const char* name(AdapterTarget target) {
  for (const Named& n : kNames) {
    if (n.targets == static_cast<std::uint8_t>(target)) return n.name;
  }
  return "?";
}

std::optional<std::uint8_t> adapter_targets_named(std::string_view text) {
  std::uint8_t found = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    const Named* known = nullptr;
    for (const Named& n : kNames) {
      if (spelled(text.substr(0, comma)) == spelled(n.name)) known = &n;
    }
    if (known == nullptr) return std::nullopt;
    found = static_cast<std::uint8_t>(found | known->targets);
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

std::string adapter_target_names(std::uint8_t told) {
  if (told == targets::kAll) return "all-linear";
  std::string text;
  for (int i = 0; i < kAdapterTargetCount; ++i) {
    const auto target = static_cast<AdapterTarget>(1U << static_cast<unsigned>(i));
    if ((told & static_cast<std::uint8_t>(target)) != 0)
      text += (text.empty() ? "" : ",") + std::string(name(target));
  }
  return text;
}

}  // namespace shardplan
