// What one layer computes: its matrix products, its attention core and its widths, before any sharding.
//
// Derived once for each distinct layer of a question; costs then divide by the plan's degrees.
//
//   LayerOps ops = layer_ops(model, model.layers[0]);   // ops.gemms: {"qkv", 8192 -> 10240, column}, ...
//
// Not here: seconds and bytes (cost/), which stage holds the layer (graph/stages.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catalog/adapters.h"
#include "catalog/model.h"
#include "catalog/parameters.h"
#include "catalog/plan.h"

namespace shardplan {

/// How tensor parallelism divides a matrix product: by output columns, by input rows, over experts, or not at
/// all.
enum class GemmCut { kColumn, kRow, kExpertColumn, kExpertRow, kWhole };

/// A projection that an adapter can stand beside.
struct AdaptedProduct {
  std::uint8_t targets = 0;  // the adapter targets that name it; 0 = none
  double out = 0;
};

/// tokens x in times in x out.
struct Gemm {
  const char* name;
  double in;
  double out;
  GemmCut cut;
  bool router = false;
  std::uint8_t modules = 0;  // bits of the recomputable modules that run it
  /// What adapters see of it: a product that joins query, key and value is three of them.
  std::array<AdaptedProduct, 3> adapted{};
  std::uint8_t targets() const { return adapted[0].targets | adapted[1].targets | adapted[2].targets; }
};

struct LayerOps {
  std::vector<Gemm> gemms;

  // Mixer. Widths in elements a token.
  double query_width = 0;         // heads x (query-key dim)
  double kv_width = 0;            // key plus value elements a token, as kept for the backward pass
  double value_width = 0;         // heads x value dim: width of the mixer's output before its projection
  bool latent_attention = false;  // its queries, keys and values are projected up from latents
  double latent_width = 0;        // elements kept by low-rank projections, before and after their norms (MLA)
  double mixer_extra_width = 0;   // further inner elements kept by Mamba and delta-net mixers
  double heads = 0;
  double attended = 0;               // keys a query meets at most: 0 = the whole sequence, else the window
  double qk_dim = 0, value_dim = 0;  // of one head, for the attention core's FLOPs
  bool has_attention_core = false;   // softmax(QK)V over the sequence
  double linear_state_flops = 0;     // FLOP a token of a recurrent mixer (Mamba, delta net)
  bool qk_norm = false;

  // MLP.
  double mlp_width = 0;     // dense width, or 0
  double mlp_matrices = 0;  // matrices before the activation: 2 when gated, 1 otherwise, 0 when there is none
  double experts = 0, top_k = 0, expert_width = 0, shared_width = 0;
  double routed_width = 0;  // of a routed token: the residual stream's, or a latent's
  bool biased_experts = false;

  // Parameters by cut.
  double tensor_parameters = 0, expert_parameters = 0, replicated_parameters = 0;
};

LayerOps layer_ops(const Model& model, const Layer& layer);

/// The distinct layers of a model and which of them each layer is.
struct LayerKinds {
  std::vector<LayerOps> kinds;
  std::vector<int> kind_of_layer;
  bool has_experts = false;  // in some layer
  /// How many layers of `kind` are in [first, last).
  std::int64_t count(std::size_t kind, std::int64_t first, std::int64_t last) const {
    return prefix[kind][static_cast<std::size_t>(last)] - prefix[kind][static_cast<std::size_t>(first)];
  }
  std::vector<std::vector<std::int64_t>> prefix;
};
LayerKinds layer_kinds(const Model& model);

}  // namespace shardplan
