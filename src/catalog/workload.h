// What is to be done: one training step of a batch, in a precision, with an optimizer, by a framework.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/device.h"

namespace shardplan {

enum class Optimizer { kAdamW, kAdamW8bit, kAdamWBf16, kAdafactor, kLion, kMuon, kSgd };
inline constexpr int kOptimizerCount = 7;
const char* name(Optimizer optimizer);
std::optional<Optimizer> optimizer_named(std::string_view text);

struct Training {
  std::int64_t sequence = 4096;   // tokens
  std::int64_t global_batch = 0;  // sequences; 0 = not given
  Precision precision = Precision::kBf16;
  Optimizer optimizer = Optimizer::kAdamW;
  double critical_batch_tokens = 0;  // 0 = not given
};

/// Bytes kept for each parameter with one optimizer.
struct StateBytes {
  Sourced<Bytes<>> weight, gradient, master, moments;
  Bytes<> optimizer() const { return master.value + moments.value; }
  Bytes<> total() const { return weight.value + gradient.value + optimizer(); }
};

/// What one framework keeps for each parameter, and what each ZeRO stage shards. Data:
/// catalog/frameworks.json.
struct Framework {
  std::string name;
  std::string description;
  std::array<StateBytes, kOptimizerCount> state;  // by optimizer
  /// At stage z: whether weights, gradients, optimizer state are divided over the data-parallel group.
  struct Sharding {
    bool allowed = false, weights = false, gradients = false, optimizer = false;
  };
  std::array<Sharding, 4> zero;
  std::optional<Source> sharding_source;  // where the stages are documented, if not with the widths

  /// Width of the weights gathered for the layers in use, where the resident shard is wider (FSDP).
  std::optional<Sourced<Bytes<>>> gathered_weight_bytes;
  /// A second gradient buffer beside gradient_bytes, kept under a condition.
  struct ExtraGradient {
    enum class When { kAlways, kBf16, kDataParallel };
    Sourced<Bytes<>> bytes;
    When when = When::kAlways;
    std::optional<int> sharded_from_stage;  // ZeRO stage that divides it; none = never divided
  };
  std::optional<ExtraGradient> extra_gradient;
};

}  // namespace shardplan
