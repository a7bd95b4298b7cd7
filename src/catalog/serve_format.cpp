#include "catalog/serve_format.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <utility>

namespace shardplan {
namespace {

constexpr double kHalf = 16, kByte = 8;
// A weight of a block format with the scale that its block shares: 4 bits and 8 for 16, and 8 for 32.
constexpr double kNvfp4 = 4.5, kMxfp4 = 4.25;
// Scales of 16 bits: of blocks of 32 where experts are stored, of 128 with 4-bit zeros in GPTQ and AWQ;
// GGUF's q8_0 of 32.
constexpr double kInt4Block = 4.5, kInt4Group = 4.15625, kQ8 = 8.5;
// Kernels for mxfp4 pad the width of an expert to multiples of it.
constexpr std::int64_t kMxfp4Multiple = 256;
// Up to this many bits a format is one of four bits.
constexpr double kFourBits = 4.9;

struct Known {
  const char* name;
  double dense, routed;  // bits of a dense model's linear layers and of routed experts
  Precision products;
  bool experts_alone;  // of a mixture: all else stays in 16 bits
  bool head;           // the head and the tables too
  std::int64_t multiple;
};
constexpr std::array kKnown{
    Known{"bf16", kHalf, kHalf, Precision::kBf16, false, false, 1},
    Known{"fp16", kHalf, kHalf, Precision::kBf16, false, false, 1},
    Known{"fp8", kByte, kByte, Precision::kFp8, false, false, 1},
    Known{"int8", kByte, kByte, Precision::kInt8, false, false, 1},
    Known{"int4", kInt4Group, kInt4Block, Precision::kBf16, true, false, 1},
    Known{"awq", kInt4Group, kInt4Block, Precision::kBf16, true, false, 1},
    Known{"gptq", kInt4Group, kInt4Block, Precision::kBf16, true, false, 1},
    Known{"mxfp4", kMxfp4, kMxfp4, Precision::kBf16, true, false, kMxfp4Multiple},
    Known{"nvfp4", kNvfp4, kNvfp4, Precision::kFp4, true, false, 1},
    Known{"q8_0", kQ8, kQ8, Precision::kBf16, false, true, 1},
};

bool is_routed(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
}

/// Products in the format where the device knows it, else in 16 bits.
Precision products_of(Precision wanted, const Device& device) {
  return device.peak[static_cast<std::size_t>(wanted)] ? wanted : Precision::kBf16;
}

const Known* known(std::string_view name) {
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return name == k.name; });
  return found == kKnown.end() ? nullptr : found;
}

/// The format whose kernels read a checkpoint.
const Known& kernels_of(const Quantization& q) {
  const double bits = q.expert_bits > 0 ? q.expert_bits : q.bits;
  if (q.method == "mxfp4") return *known("mxfp4");
  if (bits <= kFourBits) return *known(q.method == "modelopt" || q.method == "nvfp4" ? "nvfp4" : "int4");
  if (bits > kByte) return *known("bf16");
  return *known(q.method.find("fp8") != std::string::npos || q.method == "modelopt" ? "fp8" : "int8");
}

/// Of one converted weight, with its share of a scale.
double converted_bits(const Quantization& q, const Known& kernels, WeightKind kind, bool routed) {
  const double told = kind == WeightKind::kExperts && q.expert_bits > 0 ? q.expert_bits : q.bits;
  if (told > kFourBits) return told;
  return routed ? kernels.routed : kernels.dense;
}

/// The names of modules in checkpoints, by this program's names of weights.
std::string module_of(std::string_view weight) {
  static constexpr std::array kModules{
      std::pair{"attention.query_down", "self_attn.q_a_proj"},
      std::pair{"attention.query_up", "self_attn.q_b_proj"},
      std::pair{"attention.query", "self_attn.q_proj"},
      std::pair{"attention.gate", "self_attn.q_proj"},
      std::pair{"attention.key", "self_attn.k_proj"},
      std::pair{"attention.value", "self_attn.v_proj"},
      std::pair{"attention.output", "self_attn.o_proj"},
      std::pair{"attention.kv_down", "self_attn.kv_a_proj_with_mqa"},
      std::pair{"attention.kv_up", "self_attn.kv_b_proj"},
      std::pair{"indexer.", "self_attn.indexer"},
      std::pair{"delta.", "linear_attn.in_proj"},
      std::pair{"mamba.", "mixer.in_proj"},
      std::pair{"mlp.gate_up", "mlp.gate_proj"},
      std::pair{"mlp.up", "mlp.up_proj"},
      std::pair{"mlp.down", "mlp.down_proj"},
      std::pair{"moe.router", "mlp.gate"},
      std::pair{"moe.shared", "mlp.shared_experts.gate_proj"},
      std::pair{"moe.experts", "mlp.experts.0.gate_proj"},
  };
  for (const auto& [ours, theirs] : kModules)
    if (weight.starts_with(ours)) return theirs;
  return std::string(weight);
}

bool glob(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// One entry of a list against "layers.7.self_attn.q_proj": of a layer's path from its start, of anything
/// shorter wherever it is.
bool names(const std::string& entry, const std::string& module) {
  if (entry.starts_with("re:")) {
    try {
      return std::regex_search("model." + module, std::regex(entry.substr(std::string("re:").size())));
    } catch (const std::regex_error&) {
      return false;
    }
  }
  const std::size_t layers = entry.find("layers.");
  const std::string path = layers == std::string::npos ? entry : entry.substr(layers);
  if (layers != std::string::npos) return glob(path, module) || glob(path + ".*", module);
  return glob("*." + path, module) || glob("*." + path + ".*", module);
}

}  // namespace

const char* name(WeightKind kind) {
  switch (kind) {
    case WeightKind::kAttention:
      return "attention";
    case WeightKind::kMlp:
      return "MLP";
    case WeightKind::kExperts:
      return "experts";
    case WeightKind::kOther:
      return "head, embeddings, norms, routers";
  }
  return "";
}

WeightKind kind_of(const Weight& weight) {
  const std::string_view name = weight.name;
  if (!weight.linear || name == "moe.router") return WeightKind::kOther;
  if (weight.cut == Cut::kExpert) return WeightKind::kExperts;
  return name.starts_with("mlp.") || name.starts_with("moe.") ? WeightKind::kMlp : WeightKind::kAttention;
}

double bits_of(const ServeFormat& format, WeightKind kind) {
  switch (kind) {
    case WeightKind::kAttention:
      return format.attention_bits;
    case WeightKind::kMlp:
      return format.mlp_bits;
    case WeightKind::kExperts:
      return format.expert_bits;
    case WeightKind::kOther:
      break;
  }
  return format.head_bits;
}

bool kept_as_is(const std::vector<std::string>& not_converted, const Weight& weight, std::size_t layer) {
  const std::string module = "layers." + std::to_string(layer) + "." + module_of(weight.name);
  return std::any_of(not_converted.begin(), not_converted.end(),
                     [&](const std::string& entry) { return names(entry, module); });
}

ServeFormat stored_format(const Model& model, const Device& device) {
  ServeFormat format;
  const Quantization& q = model.quantization;
  if (q.method.empty()) return format;
  const Known& kernels = kernels_of(q);
  const bool routed = is_routed(model);
  std::array<double, kWeightKindCount> bits{}, parameters{};
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const Weight& weight : layer_weights(model, model.layers[i])) {
      const WeightKind kind = kind_of(weight);
      const bool converted = kind != WeightKind::kOther && !kept_as_is(q.not_converted, weight, i);
      const double each = converted ? converted_bits(q, kernels, kind, routed) : kHalf;
      bits[static_cast<std::size_t>(kind)] += each * static_cast<double>(weight.parameters);
      parameters[static_cast<std::size_t>(kind)] += static_cast<double>(weight.parameters);
    }
  }
  const auto mean = [&](WeightKind kind) {
    const auto i = static_cast<std::size_t>(kind);
    return parameters[i] > 0 ? bits[i] / parameters[i] : kHalf;
  };
  format.attention_bits = mean(WeightKind::kAttention);
  format.mlp_bits = mean(WeightKind::kMlp);
  format.expert_bits = mean(WeightKind::kExperts);
  format.products = products_of(kernels.products, device);
  format.expert_multiple = kernels.multiple;
  // Square blocks share a scale.
  if (q.method == "fp8" && q.group_size > 1)
    format.block = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(q.group_size))));
  format.name = q.method + ", as stored";
  return format;
}

std::optional<ServeFormat> told_format(std::string_view name, const Model& model, const Device& device) {
  const Known* k = known(name);
  if (k == nullptr) return std::nullopt;
  const bool routed = is_routed(model);
  ServeFormat format;
  format.expert_bits = k->routed;
  if (!routed || !k->experts_alone) format.attention_bits = format.mlp_bits = k->dense;
  if (k->head) format.head_bits = k->dense;
  format.products = products_of(k->products, device);
  format.expert_multiple = k->multiple;
  format.name = k->name;
  return format;
}

std::vector<std::string> serve_format_names() {
  std::vector<std::string> names;
  names.reserve(kKnown.size());
  for (const Known& k : kKnown) names.emplace_back(k.name);
  return names;
}

}  // namespace shardplan
