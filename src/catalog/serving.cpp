#include "catalog/serving.h"

namespace shardplan {

const char* name(ServeGoal goal) {
  switch (goal) {
    case ServeGoal::kLatency:
      return "latency";
    case ServeGoal::kTokensPerGpu:
      return "tokens-per-gpu";
    case ServeGoal::kGpus:
      return "gpus";
  }
  return "";
}

const char* name(PromptPlace place) {
  switch (place) {
    case PromptPlace::kTogether:
      return "aggregated";
    case PromptPlace::kApart:
      return "disaggregated";
    case PromptPlace::kEither:
      return "either";
  }
  return "";
}

ServingTime ideal_engine(const Device& device) {
  const auto half = static_cast<std::size_t>(Precision::kBf16);
  const auto other = static_cast<std::size_t>(Precision::kFp16);
  const auto& products =
      device.efficiency.gemm[half] ? device.efficiency.gemm[half] : device.efficiency.gemm[other];
  ServingTime engine;
  engine.name = "generic";
  engine.law.weights = engine.law.cache = device.efficiency.memory;
  if (products) engine.law.products = *products;
  engine.law.scores = device.efficiency.attention;
  return engine;
}

std::optional<std::string> unmodelled_decode(const Model& model) {
  if (model.layers.empty()) return "no layers";
  for (const Layer& layer : model.layers) {
    if (const auto* other = std::get_if<OtherMixer>(&layer.mixer)) return "layers of kind " + other->kind;
  }
  return std::nullopt;
}

}  // namespace shardplan
