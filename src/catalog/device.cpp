#include "catalog/device.h"

namespace shardplan {
namespace {
constexpr std::array<const char*, kPrecisionCount> kPrecisionNames{"fp32", "tf32", "bf16", "fp16",
                                                                   "fp8",  "int8", "fp4"};
}  // namespace

const char* name(Precision precision) { return kPrecisionNames[static_cast<std::size_t>(precision)]; }

std::optional<Precision> precision_named(std::string_view text) {
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
    if (text == kPrecisionNames[i]) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

const char* name(ScaleUpKind kind) {
  switch (kind) {
    case ScaleUpKind::kSwitch:
      return "switch";
    case ScaleUpKind::kMesh:
      return "mesh";
    case ScaleUpKind::kTorus:
      return "torus";
    case ScaleUpKind::kPcie:
      return "pcie";
  }
  return "?";
}

}  // namespace shardplan
