#include "catalog/workload.h"

namespace shardplan {
namespace {
constexpr std::array<const char*, kOptimizerCount> kOptimizerNames{
    "adamw", "adamw-8bit", "adamw-bf16", "adafactor", "lion", "muon", "sgd"};
constexpr std::array<const char*, kPrecisionRecipeCount> kRecipeNames{"bf16",  "fp16",          "fp8",
                                                                      "mxfp8", "fp8-blockwise", "nvfp4"};
}  // namespace

const char* name(PrecisionRecipe recipe) { return kRecipeNames[static_cast<std::size_t>(recipe)]; }

std::optional<PrecisionRecipe> precision_recipe_named(std::string_view text) {
  if (text == name(Precision::kFp4)) return PrecisionRecipe::kNvfp4;
  for (std::size_t i = 0; i < kRecipeNames.size(); ++i) {
    if (text == kRecipeNames[i]) return static_cast<PrecisionRecipe>(i);
  }
  return std::nullopt;
}

Precision precision_of(PrecisionRecipe recipe) {
  switch (recipe) {
    case PrecisionRecipe::kBf16:
      return Precision::kBf16;
    case PrecisionRecipe::kFp16:
      return Precision::kFp16;
    case PrecisionRecipe::kNvfp4:
      return Precision::kFp4;
    case PrecisionRecipe::kFp8:
    case PrecisionRecipe::kMxfp8:
    case PrecisionRecipe::kFp8Blockwise:
      break;
  }
  return Precision::kFp8;
}

const char* name(TensorOverlap overlap) {
  constexpr std::array<const char*, 3> kNames{"usual", "async", "off"};
  return kNames[static_cast<std::size_t>(overlap)];
}

const char* name(Optimizer optimizer) { return kOptimizerNames[static_cast<std::size_t>(optimizer)]; }

std::optional<Optimizer> optimizer_named(std::string_view text) {
  for (std::size_t i = 0; i < kOptimizerNames.size(); ++i) {
    if (text == kOptimizerNames[i]) return static_cast<Optimizer>(i);
  }
  return std::nullopt;
}

}  // namespace shardplan
