// Low-rank adapters on a frozen base (LoRA), and the block formats in which the base can be kept (QLoRA).
//
//   Adapters a{.rank = 16, .targets = *adapter_targets_named("q_proj,v_proj")};
//
// A frozen weight has no gradient and no optimizer state; an adapter has both. Not here: which product of a
// layer a target is (graph/layer_ops.h), what is kept of the activations (estimate/adapters.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/source.h"

namespace shardplan {

/// Linear layers that an adapter can stand beside, each a bit; names as PEFT's target_modules spells them.
enum class AdapterTarget : std::uint8_t {
  kQuery = 1,
  kKey = 2,
  kValue = 4,
  kOutput = 8,
  kGate = 16,
  kUp = 32,
  kDown = 64,
};
inline constexpr int kAdapterTargetCount = 7;
const char* name(AdapterTarget target);

namespace targets {
inline constexpr std::uint8_t kProjections = 1 | 2 | 4;  // into the mixer
inline constexpr std::uint8_t kAttention = kProjections | 8;
inline constexpr std::uint8_t kMlpInputs = 16 | 32;
inline constexpr std::uint8_t kDownward = 64;
inline constexpr std::uint8_t kMlp = kMlpInputs | kDownward;
inline constexpr std::uint8_t kAll = kAttention | kMlp;
}  // namespace targets

/// Of names joined by commas: those above, "attention", "mlp", "all-linear".
std::optional<std::uint8_t> adapter_targets_named(std::string_view text);
std::string adapter_target_names(std::uint8_t targets);

/// Weights in blocks that share a scale; the scales may be quantized in blocks of their own.
/// Data: catalog/frameworks.json.
struct BlockFormat {
  std::string name;
  Sourced<Ratio<>> bits, block, scale_bits;
  Sourced<Ratio<>> scales_block{ratio(1), {}}, second_scale_bits;
};

struct Adapters {
  std::int64_t rank = 0;  // 0 = none: the whole model is trained
  std::uint8_t targets = 0;
  std::optional<BlockFormat> base;  // of the frozen linear layers; none = 16 bits
};

}  // namespace shardplan
