// A transformer as its shape: what import/hf_config.h reads and catalog/parameters.h counts.
//
// A Model is a list of layers; each layer is a mixer (attention, Mamba, ...) and an MLP (dense, mixture of
// experts). Counts are exact integers. Shapes are per whole model, before any sharding.
//
//   Layer l = model.layers[0];  const auto& a = std::get<Attention>(l.mixer);   // a.heads, a.kv_heads,
//   a.head_dim
//
// Not here: precision of a run (catalog/workload.h), what a rank holds (graph/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "catalog/source.h"

namespace shardplan {

enum class QkNorm { kNone, kPerHead, kFullWidth };

/// Multi-head, grouped-query or multi-query attention.
struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool q_bias = false, kv_bias = false, out_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool output_gate = false;   // a gate of heads * head_dim beside the query projection (Qwen3.5)
  bool sinks = false;         // one learned sink logit a head (gpt-oss)
  std::int64_t window = 0;    // sliding window in tokens, 0 = full attention
  std::int64_t chunk = 0;     // chunked local attention in tokens (Llama 4), 0 = none
  bool key_is_value = false;  // no value projection (Gemma 4, full layers)
  bool shares_kv = false;     // reads an earlier layer's cache, uses no key and value projections (Gemma 3n)
  bool operator==(const Attention&) const = default;
};

/// Multi-head latent attention, arXiv:2405.04434 section 2.1.
struct LatentAttention {
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  // 0 = full-rank query
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0, rope_dim = 0, value_dim = 0;
  bool bias = false;
  // Sparse-attention indexer (DeepSeek-V3.2, GLM-5); heads 0 = none.
  std::int64_t index_heads = 0, index_dim = 0, index_top_k = 0;
  bool operator==(const LatentAttention&) const = default;
};

/// Mamba-2 mixer, arXiv:2405.21060.
struct Mamba2 {
  std::int64_t heads = 0, head_dim = 0, groups = 0, state = 0, conv_kernel = 0;
  bool conv_bias = false, projection_bias = false;
  bool operator==(const Mamba2&) const = default;
};

/// Gated delta net (Qwen3-Next, Qwen3.5).
struct GatedDeltaNet {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, conv_kernel = 0;
  bool operator==(const GatedDeltaNet&) const = default;
};

/// A mixer that is counted but not modelled op by op; `kind` says which ("deepseek_v4_compressed").
struct OtherMixer {
  std::string kind;
  std::int64_t heads = 0, head_dim = 0, kv_heads = 0;
  std::int64_t parameters = 0;
  std::int64_t replicated =
      0;  // of these: kept whole on every tensor-parallel rank (compressors, down-projections)
  bool operator==(const OtherMixer&) const = default;
};

struct NoMixer {
  bool operator==(const NoMixer&) const = default;
};
using Mixer = std::variant<Attention, LatentAttention, Mamba2, GatedDeltaNet, OtherMixer, NoMixer>;

struct DenseMlp {
  std::int64_t width = 0;
  bool gated = true;  // three matrices instead of two
  bool bias = false;
  bool operator==(const DenseMlp&) const = default;
};

struct MoeMlp {
  std::int64_t experts = 0, top_k = 0;
  std::int64_t width = 0;  // of one routed expert
  bool gated = true;
  bool expert_bias = false;       // gpt-oss
  bool router_bias = false;       // bias of the router projection
  bool score_correction = false;  // one bias an expert, used for selection (DeepSeek-V3)
  std::int64_t shared_width = 0;  // summed over shared experts, 0 = none
  bool shared_gate = false;       // a gate of hidden size on the shared expert (Qwen)
  std::int64_t latent =
      0;  // width that routed experts read and write instead of hidden (Nemotron-H), 0 = hidden
  bool operator==(const MoeMlp&) const = default;
};

struct NoMlp {
  bool operator==(const NoMlp&) const = default;
};
using Mlp = std::variant<DenseMlp, MoeMlp, NoMlp>;

struct Layer {
  Mixer mixer = NoMixer{};
  Mlp mlp = NoMlp{};
  std::int64_t norm_parameters = 0;  // all norms of the layer outside the mixer, weights and biases
  std::int64_t other_parameters =
      0;  // per-layer inputs, low-rank adapters of the architecture (Gemma 3n), ...
  bool operator==(const Layer&) const = default;
};

/// Parameters that are in a checkpoint but not in the language model's main layers.
struct NamedCount {
  std::string name;  // "mtp", "vision_tower", "reward_head", "rotary_buffers"
  std::int64_t parameters = 0;
  std::int64_t unique_parameters = 0;  // without embeddings shared with the main model, where that differs
};

/// How a checkpoint stores its weights (quantization_config).
struct Quantization {
  std::string method;           // "fp8", "mxfp4", "nvfp4", "awq", ... or empty
  double bits = 0;              // of one quantized weight
  double expert_bits = 0;       // of routed experts where they differ (DeepSeek-V4: fp4 in an fp8 checkpoint)
  std::int64_t group_size = 0;  // weights that share a scale, 0 = none
  std::vector<std::string> not_converted;  // module patterns kept in the checkpoint's dtype
  bool operator==(const Quantization&) const = default;
};

/// Estimates keep one entry for each distinct layer of a model; published ones have at most a handful.
inline constexpr std::size_t kDistinctLayersMax = 64;

struct Model {
  std::string name;
  std::string architecture;  // "llama", "deepseek_v3", "by_hand"
  Source source;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;  // 0 when the shape was given by hand without it: logits are left out and said so
  bool tied_embeddings = false;
  bool has_embeddings = true;          // false only for a shape given by hand without vocabulary
  std::int64_t learned_positions = 0;  // GPT-2 style position table, 0 = none
  std::int64_t final_norm_parameters = 0;
  std::int64_t other_parameters = 0;  // outside layers: shared projections of the architecture
  std::int64_t max_positions = 0;
  std::vector<Layer> layers;
  std::int64_t mtp_layers = 0;  // multi-token-prediction layers, not in `layers`
  std::vector<NamedCount> extras;
  std::string dtype;  // as the checkpoint says: "bfloat16"
  Quantization quantization;
  /// Given by hand with --params: the truth for the state, whatever the shape counts to.
  std::optional<double> declared_parameters;
  /// Class defaults that were used for fields the file does not have: "num_key_value_heads =
  /// num_attention_heads".
  std::vector<std::string> assumed;
};

}  // namespace shardplan
