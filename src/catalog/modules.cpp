#include "catalog/modules.h"

#include <algorithm>

namespace shardplan {

bool has_module(const Model& model, Module module) {
  return std::any_of(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
    const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
    switch (module) {
      case Module::kLayerNorm:
        return true;
      case Module::kMlaUpProjection:
        return std::holds_alternative<LatentAttention>(layer.mixer);
      case Module::kMlp:
        return std::holds_alternative<DenseMlp>(layer.mlp);
      case Module::kMoe:
      case Module::kMoeActivation:
        return moe != nullptr;
      case Module::kSharedExperts:
        return moe != nullptr && moe->shared_width > 0;
      case Module::kCoreAttention:
        break;
    }
    return true;
  });
}

std::vector<std::uint8_t> module_sets(const Model& model) {
  const auto bit = [](Module module) { return static_cast<unsigned>(module); };
  unsigned all = 0;
  for (int i = 0; i < kModuleCount; ++i)
    if (has_module(model, static_cast<Module>(1 << i))) all |= 1U << i;
  std::vector<std::uint8_t> sets;
  for (unsigned set = 1; set < 1U << kModuleCount; ++set) {
    const unsigned inside = bit(Module::kMoeActivation) | bit(Module::kSharedExperts);
    const bool told_twice = (set & bit(Module::kMoe)) != 0 && (set & inside) != 0;
    if ((set & ~all) == 0 && !told_twice && set != bit(Module::kCoreAttention))
      sets.push_back(static_cast<std::uint8_t>(set));
  }
  return sets;
}

}  // namespace shardplan
