#include "catalog/objective.h"

#include <array>

namespace shardplan {

const char* name(ObjectiveKind kind) {
  static constexpr std::array<const char*, kObjectiveKindCount> kNames{"step-time", "tokens-per-gpu", "cost",
                                                                       "energy", "gpus"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace shardplan
