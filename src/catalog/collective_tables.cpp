#include "catalog/collective_tables.h"

namespace shardplan {
namespace {

constexpr std::array<const char*, kCommAlgorithmCount> kAlgorithmNames{
    "none",      "ring",   "tier-by-tier", "pairwise", "chain",    "tree", "nvls",
    "nvls-tree", "direct", "one-shot",     "two-shot", "multimem", "pat",  "torus"};
constexpr std::array<const char*, kProtocolCount> kProtocolNames{"LL", "LL128", "Simple"};
constexpr std::array<const char*, kLauncherCount> kLauncherNames{"nccl-tests", "torch", "cuda-graph",
                                                                 "device-kernel"};

}  // namespace

const char* name(CommAlgorithm algorithm) { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }
const char* name(Protocol protocol) { return kProtocolNames[static_cast<std::size_t>(protocol)]; }
const char* name(Launcher launcher) { return kLauncherNames[static_cast<std::size_t>(launcher)]; }

std::optional<Launcher> launcher_named(std::string_view text) {
  for (std::size_t i = 0; i < kLauncherCount; ++i) {
    if (text == kLauncherNames[i]) return static_cast<Launcher>(i);
  }
  return std::nullopt;
}

}  // namespace shardplan
