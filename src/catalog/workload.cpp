#include "catalog/workload.h"

namespace shardplan {
namespace {
constexpr std::array<const char*, kOptimizerCount> kOptimizerNames{
    "adamw", "adamw-8bit", "adamw-bf16", "adafactor", "lion", "muon", "sgd"};
}  // namespace

const char* name(Optimizer optimizer) { return kOptimizerNames[static_cast<std::size_t>(optimizer)]; }

std::optional<Optimizer> optimizer_named(std::string_view text) {
  for (std::size_t i = 0; i < kOptimizerNames.size(); ++i) {
    if (text == kOptimizerNames[i]) return static_cast<Optimizer>(i);
  }
  return std::nullopt;
}

}  // namespace shardplan
