#include "catalog/serving.h"

namespace shardplan {

std::optional<std::string> unmodelled_decode(const Model& model, std::int64_t context) {
  if (model.layers.empty()) return "no layers";
  for (const Layer& layer : model.layers) {
    if (std::holds_alternative<MoeMlp>(layer.mlp)) return "a mixture of experts";
    if (std::holds_alternative<LatentAttention>(layer.mixer)) return "latent attention";
    const auto* a = std::get_if<Attention>(&layer.mixer);
    if (a == nullptr) return "layers without attention";
    if (a->shares_kv || a->key_is_value) return "layers that share keys and values";
    const std::int64_t reach = a->window > 0 ? a->window : a->chunk;
    if (reach > 0 && reach < context) {
      return "attention over a window of " + std::to_string(reach) + " tokens, shorter than the context";
    }
  }
  return std::nullopt;
}

}  // namespace shardplan
