// What each architecture's reference implementation fixes and config.json does not say, as one table.
//
//   const Architecture* a = architecture_named("qwen3_moe");
//   a->config_class     // "Qwen3MoeConfig"
//   a->traits.qk_norm   // "per_head"
//
// The class defaults are facts of Hugging Face transformers 5.24
// (src/transformers/models/*/configuration_*.py and modeling_*.py) or, for classes that live beside their
// checkpoints, of those files. Not here: reading a file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/model.h"

namespace shardplan {

class ConfigReader;

enum class NormKind { kRms, kLayer, kLayerNoBias, kNone };
enum class AttentionKind { kGrouped, kLatent };
enum class LinearKind { kNone, kDeltaNet, kLightning };
enum class WindowRule { kNone, kAll, kMaxWindowLayers, kPeriod, kChunks };
enum class MoeLayers { kNone, kAll, kFirstDense, kSparseStep, kInterleave, kRange, kPeriodOffset };
enum class SharedExperts { kNone, kCount, kWidth, kOneDense };

/// A rule is "" (never), "always", or the name of a flag of the config.
struct Traits {
  NormKind norm = NormKind::kRms;
  int layer_norms = 2;           // of hidden size, a layer
  const char* one_norm_if = "";  // rule: a parallel block with one norm
  const char* qkv_bias = "";     // rule
  const char* out_bias = "";     // rule
  const char* mlp_bias = "";     // rule
  const char* head_bias = "";    // rule: bias of the language-model head
  const char* qk_norm = "";      // "", "per_head", "full_width", then ":flag" when a flag decides
  const char* kv_one_if = "";    // rule: one key-value head
  bool gated = true;
  AttentionKind attention = AttentionKind::kGrouped;
  bool indexer = false;
  bool output_gate = false;
  bool sinks = false;
  LinearKind linear = LinearKind::kNone;
  WindowRule window = WindowRule::kNone;
  int window_period = 0;         // every n-th layer is full
  const char* dense_width = "";  // field of the dense MLP's width where it is not intermediate_size
  int width_multiple = 0;        // of hidden, when the width is not given
  int width_divisor = 1;         // Qwen (v1) gives twice the width
  MoeLayers moe = MoeLayers::kNone;
  const char* expert_width = "moe_intermediate_size";
  SharedExperts shared = SharedExperts::kNone;
  const char* shared_width = "shared_expert_intermediate_size";
  bool shared_gate = false;
  bool expert_bias = false;
  bool router_bias = false;
  const char* score_correction = "";  // rule
  bool learned_positions = false;
  int extra_positions = 0;  // OPT's table has two rows more
  bool embedding_norm = false;
  int mtp_norms = 3;   // of hidden size, a multi-token-prediction module
  int mtp_tables = 0;  // copies of embedding and head that the checkpoint stores with each module
};

struct Architecture {
  const char* model_type;    // "llama"
  const char* config_class;  // "LlamaConfig"
  const char* synonyms;      // model types and class names read the same way, separated by blanks
  const char* defaults;      // class defaults, JSON
  Traits traits;
  void (*build)(ConfigReader& reader, const Traits& traits, Model& model);
};

/// By model type or by the name of a model class; null when nobody knows it.
const Architecture* architecture_named(std::string_view name);
std::vector<std::string> architecture_names();

// The table is kept in pieces (hf_architectures_*.cpp).
std::span<const Architecture> dense_architectures();
std::span<const Architecture> classic_architectures();
std::span<const Architecture> moe_architectures();
std::span<const Architecture> hybrid_architectures();

}  // namespace shardplan
