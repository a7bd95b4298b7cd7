// Questions for tests, made by hand so that a test does not depend on the catalog: GPT and Llama shapes on
// the course's cluster.
//
//   Question q = gpt_question({.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence =
//   2048});
#pragma once

#include <cstdint>

#include "catalog/question.h"

namespace shardplan {

template <class Q>
Sourced<Q> test_value(Q value) {
  return {value, {SourceKind::kUser, "test", "test", "", "", ""}};
}

struct GptShape {
  double parameters = 0;
  std::int64_t layers = 1, hidden = 1, heads = 1;
  std::int64_t sequence = 4096;
  std::int64_t gpus = 1;
};

inline Cluster course_cluster(std::int64_t gpus) {
  Cluster c;
  c.name = "course";
  c.gpus = gpus;
  Device& d = c.device;
  d.name = "course-192gb";
  d.memory_sold = d.memory_reported = test_value(gibibytes(192));
  d.memory_bandwidth = test_value(terabytes_per_s(5.3));
  d.peak[static_cast<std::size_t>(Precision::kBf16)] = test_value(teraflops_per_s(400));
  d.efficiency.gemm[static_cast<std::size_t>(Precision::kBf16)] = test_value(ratio(1));
  d.efficiency.gemm_k_half[static_cast<std::size_t>(Precision::kBf16)] = test_value(ratio(0));
  d.efficiency.attention = d.efficiency.memory = test_value(ratio(1));
  d.efficiency.kernel_launch = test_value(seconds(0));
  d.efficiency.contention = test_value(ratio(0));
  c.tiers.push_back(
      {"node", 8, test_value(gigabytes_per_s(300)), test_value(microseconds(5)), test_value(ratio(1))});
  if (gpus > 8) {
    c.tiers.push_back({"network", gpus, test_value(gigabytes_per_s(50)), test_value(microseconds(15)),
                       test_value(ratio(1))});
  }
  c.reserve_fixed = test_value(gibibytes(2));
  c.reserve_share = test_value(ratio(0.04));
  return c;
}

/// 2 + 2 + 4 + 8 bytes a parameter, every ZeRO stage.
inline Framework generic_framework() {
  Framework f;
  f.name = "generic";
  f.state.fill({test_value(bytes(2)), test_value(bytes(2)), test_value(bytes(4)), test_value(bytes(8))});
  for (std::size_t z = 0; z < f.zero.size(); ++z) f.zero[z] = {true, z >= 3, z >= 2, z >= 1};
  return f;
}

inline Question gpt_question(const GptShape& shape) {
  Question q;
  q.model.name = "by hand";
  q.model.hidden = shape.hidden;
  q.model.declared_parameters = shape.parameters;
  q.model.has_embeddings = false;
  Layer layer;
  layer.mixer =
      Attention{.heads = shape.heads, .kv_heads = shape.heads, .head_dim = shape.hidden / shape.heads};
  layer.mlp = DenseMlp{.width = 4 * shape.hidden, .gated = false};
  q.model.layers.assign(static_cast<std::size_t>(shape.layers), layer);
  q.cluster = course_cluster(shape.gpus);
  q.workload.sequence = shape.sequence;
  q.framework = generic_framework();
  q.activations = ActivationModel::kPaper;
  return q;
}

/// llama3-8b, exactly counted, with its vocabulary.
inline Question llama3_8b_question(std::int64_t sequence, std::int64_t gpus) {
  Question q = gpt_question(
      {.parameters = 0, .layers = 32, .hidden = 4096, .heads = 32, .sequence = sequence, .gpus = gpus});
  q.model.name = "llama3-8b";
  q.model.declared_parameters.reset();
  q.model.has_embeddings = true;
  q.model.vocab = 128256;
  q.model.final_norm_parameters = 4096;
  Layer layer;
  layer.mixer = Attention{.heads = 32, .kv_heads = 8, .head_dim = 128};
  layer.mlp = DenseMlp{.width = 14336};
  layer.norm_parameters = 2 * 4096;
  q.model.layers.assign(32, layer);
  return q;
}

}  // namespace shardplan
