// Parameter counts, exact to the last parameter, as named weights with the way tensor parallelism cuts them.
//
//   count_parameters(model).total          // 8,030,261,248 for Llama-3.1-8B
//   layer_weights(model, model.layers[0])  // {"attention.query", 4096*4096, Cut::kTensor}, ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/model.h"

namespace shardplan {

/// How a weight is divided: over the tensor-parallel group, over expert-parallel and expert-tensor-parallel
/// groups, or kept whole on every rank of both.
enum class Cut { kTensor, kExpert, kReplicated };

struct Weight {
  const char* name;         // "mlp.gate_up"
  std::int64_t parameters;  // of the whole model's layer; for kExpert all experts together
  Cut cut;
  bool linear = true;  // a matrix of a linear layer (has a GEMM, can be quantized); false: norm, bias, table
};

struct ParameterCount {
  std::int64_t total = 0;                     // main layers, embeddings, untied head
  std::int64_t active = 0;                    // experts at top-k plus shared
  std::int64_t active_without_embedding = 0;  // active minus the input embedding (a tied table still serves
                                              // as head: it is left out once, as the published figures do)
};

std::vector<Weight> layer_weights(const Model& model, const Layer& layer);
/// Embedding table, position table, untied head, final norm, parameters outside layers.
std::vector<Weight> edge_weights(const Model& model);
std::int64_t layer_parameters(const Model& model, const Layer& layer);
ParameterCount count_parameters(const Model& model);
/// declared_parameters when given by hand, else the exact count.
double state_parameters(const Model& model);

}  // namespace shardplan
