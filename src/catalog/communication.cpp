#include "catalog/communication.h"

#include <array>

namespace shardplan {
namespace {
constexpr std::array<const char*, kCollectiveCount> kCollectiveNames{
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"};
}  // namespace

const char* name(Collective collective) { return kCollectiveNames[static_cast<std::size_t>(collective)]; }

std::optional<Collective> collective_named(std::string_view text) {
  for (std::size_t i = 0; i < kCollectiveNames.size(); ++i) {
    if (text == kCollectiveNames[i]) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

}  // namespace shardplan
