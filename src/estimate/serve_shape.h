// What of a model a step reads, a prompt computes and a replica keeps on one GPU, under a split: summed over
// the layers once, used for every load.
//
//   const ServeShape shape(model, {.tensor = 8}, format);
//   shape.fixed_bytes, shape.caches[0].elements
//
// Not here: what fits (serve_memory.h), times (serve_time.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catalog/model.h"
#include "catalog/serve_format.h"

namespace shardplan {

struct ServeShape {
  ServeShape(const Model& model, const ServeSplit& split, const ServeFormat& format);

  /// Layers that keep the same of a token: 0 tokens of window = the whole context.
  struct Cache {
    std::int64_t window = 0;  // tokens that are kept
    std::int64_t reach = 0;   // tokens that a step reads of those that are kept, 0 = all
    double elements = 0;      // of a token on a GPU, all layers of the kind together
    double element_bytes = 0;
    double score_width = 0;  // query-key plus value dimensions of all heads, all layers of the kind
    double token_bytes() const { return elements * element_bytes; }
  };

  ServeSplit split;
  ServeFormat format;
  Source source;
  double layers = 0, routed_layers = 0, hidden = 0, vocab = 0;
  double mlp_width = 0;  // the widest on a GPU, of routed experts for every one a token goes to
  std::array<double, kWeightKindCount> kept{};  // weights on a GPU, all stages' layers
  double head = 0, tables = 0;    // weights of the head, and of tables and norms outside the layers
  double fixed_bytes = 0;         // weights that every step reads: attention, dense and shared MLPs, head
  double expert_bytes = 0;        // of all experts on a GPU
  double fixed_parameters = 0;    // that a token uses on a GPU
  double expert_parameters = 0;   // the same of routed experts, were all GPUs of the stage one
  double experts = 0, top_k = 0;  // of a routed layer
  double state_bytes = 0;         // of recurrent mixers, read and written for each sequence
  std::vector<Cache> caches;
};

}  // namespace shardplan
