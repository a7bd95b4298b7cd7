// What is alive beyond kept activations at the memory peak.
//
// The peak of a stage is its steady bytes, the activations alive, and the largest of several moments that
// exclude one another: the loss, the head's backward, the top layer's backward, the embedding's backward.
// Symbols as in activations_ops.h. Not here: which moment is the largest (estimate/memory_peak.cpp), buffers
// kept for good (framework_buffers.h), what a counter shows of the peak (memory_counters.h).
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

/// Gradients that are alive while the top layer of a stage runs backward.
struct LayerBackwardTransient {
  static constexpr FormulaInfo info{
      "memory.transient.layer_backward",
      "gradients alive in one dense layer's backward pass",
      {"shardplan", "tensors alive at once in the backward pass of a two-layer MLP"},
      "residual gradient and its copy, gradients of the activation and of the first projection; with "
      "sequence parallelism the input that is gathered again"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> width;
    Ratio<N> matrices;
    Ratio<N> gathered;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 7> symbols{"T", "h", "f", "g", "n_g", "t", "t_s"};
  static constexpr std::array<std::string_view, 7> inputs{
      "tokens",
      "hidden size",
      "width",
      "matrices of the first projection",
      "inputs gathered again: 1 with sequence parallelism, else 0",
      "tensor-parallel degree",
      kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    const auto residual = in.tokens * in.hidden * element;
    const auto inner = in.tokens * in.width * element / in.tensor;
    return named("residual gradients", 2.0 * residual / in.tensor_sequence) +
           named("MLP gradients", inner + in.matrices * inner) +
           named("gathered input", in.gathered * residual);
  }
  static constexpr std::array examples{Example<LayerBackwardTransient>{
      {ratio(4096), ratio(8192), ratio(28672), ratio(2), ratio(0), ratio(1), ratio(1)},
      838860800.0,
      "memory of the published llama3-70b slice on 8 B200: 4 h T + 2 f T + 4 f T bytes = 800 MiB"}};
};

/// The same for a layer of routed experts.
struct MoeBackwardTransient {
  static constexpr FormulaInfo info{
      "memory.transient.moe_backward",
      "gradients alive in one expert layer's backward pass",
      {"shardplan", "tensors alive at once in the backward pass of permuted tokens and two grouped products"},
      "residual gradient and its copy, gradients of the permuted tokens before and after the experts, of "
      "the activation and of the first projection"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> rows;
    Ratio<N> width;
    Ratio<N> matrices;
    Ratio<N> expert_tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 7> symbols{"T", "h", "T_e", "f_e", "g", "t_e", "t_s"};
  static constexpr std::array<std::string_view, 7> inputs{"tokens",
                                                          "hidden size",
                                                          "expert rows on the rank",
                                                          "width of an expert",
                                                          "matrices of the first projection",
                                                          "tensor-parallel degree of an expert",
                                                          kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    const auto inner = in.rows * in.width * element / in.expert_tensor;
    return named("residual gradients", 2.0 * in.tokens * in.hidden * element / in.tensor_sequence) +
           named("permuted gradients", 2.0 * in.rows * in.hidden * element) +
           named("expert gradients", inner + in.matrices * inner);
  }
  static constexpr std::array examples{Example<MoeBackwardTransient>{
      {ratio(4096), ratio(5120), ratio(24576), ratio(1536), ratio(2), ratio(1), ratio(1)},
      813694976.0,
      "published DeepSeek-V2 slice on 8 B200: 4096 x 6 rows, first stage"}};
};

/// Score gradients of attention that is not fused.
struct ScoresBackwardTransient {
  static constexpr FormulaInfo info{
      "memory.transient.scores_backward",
      "scores alive in the backward pass of unfused attention",
      {"shardplan", "three score-sized tensors, read off the peaks of Megatron's functional tests"},
      "gradient of the dropped probabilities, of the probabilities and of the scores"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> scores;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 3> symbols{"T", "n_s", "t"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens", "scores a token: heads times keys",
                                                          "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return kept::kScoreTensors * in.tokens * in.scores * kept::constant<N>(kept::kActivation) / in.tensor;
  }
  static constexpr std::array examples{Example<ScoresBackwardTransient>{
      {ratio(4096), ratio(8192), ratio(1)}, 201326592.0, "3 x 4096 x 8 x 1024 x 2 bytes"}};
};

/// Alive while the output layer runs backward.
struct HeadBackwardTransient {
  static constexpr FormulaInfo info{
      "memory.transient.head_backward",
      "logit gradients and the head's own",
      {"megatron-core", "tensor_parallel/layers.py: the output layer's backward"},
      "16-bit logit gradient, the hidden state gathered and its gradient; the weight gradient is a tensor of "
      "its own where it is not accumulated by the matrix product"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> vocabulary;
    Ratio<N> weight_gradients;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 5> symbols{"T", "h", "V", "n_w", "t"};
  static constexpr std::array<std::string_view, 5> inputs{
      "tokens", "hidden size", "vocabulary", "weight gradients held apart", "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    return named("logit gradients", in.tokens * in.vocabulary * element / in.tensor) +
           named("hidden state", in.tokens * in.hidden * element) +
           named("weight gradient", in.weight_gradients * in.hidden * in.vocabulary * element / in.tensor);
  }
  static constexpr std::array examples{
      Example<HeadBackwardTransient>{{ratio(4096), ratio(8192), ratio(128256), ratio(0), ratio(1)},
                                     1117782016.0,
                                     "4096 x (128256 + 8192) x 2 bytes"}};
};

/// Alive at the very end of the first stage's backward pass.
struct EmbeddingBackwardTransient {
  static constexpr FormulaInfo info{
      "memory.transient.embedding_backward",
      "the embedding table's dense gradient",
      {"megatron-core", "tensor_parallel/layers.py: VocabParallelEmbedding"},
      "a dense 16-bit gradient of the table before it is added to the fp32 one, and two residual streams"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> vocabulary;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "h", "V", "t"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "hidden size", "vocabulary",
                                                          "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    return named("table gradient", in.vocabulary * in.hidden * element / in.tensor) +
           named("residual gradients", 2.0 * in.tokens * in.hidden * element);
  }
  static constexpr std::array examples{
      Example<EmbeddingBackwardTransient>{{ratio(4096), ratio(8192), ratio(128256), ratio(1)},
                                          2235564032.0,
                                          "128256 x 8192 x 2 + 4 x 4096 x 8192 bytes"}};
};

/// Weights and gradients of the layers that full sharding has gathered at one time.
struct GatheredLayers {
  static constexpr FormulaInfo info{
      "memory.transient.gathered_layers",
      "unsharded layers under full sharding",
      {"zhao2023", "sec. 3: one unit unsharded at a time; sec. 3.3.2: the next one prefetched"},
      "one layer in use, the next one prefetched, one layer's gradients before their "
      "reduce-scatter"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> layer_parameters;
    Bytes<N> weight_bytes;
    Bytes<N> gradient_bytes;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n_l", "k_w", "k_g"};
  static constexpr std::array<std::string_view, 3> inputs{"layer parameters", "weight bytes",
                                                          "gradient bytes"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return named("gathered weights", 2.0 * in.layer_parameters * in.weight_bytes) +
           named("unreduced gradients", in.layer_parameters * in.gradient_bytes);
  }
  static constexpr std::array examples{Example<GatheredLayers>{
      {ratio(855654400), bytes(2), bytes(2)}, 5133926400.0, "llama3-70b: three times one layer in 16 bits"}};
};

/// The unit around the layers: embedding, head and final norm, gathered from the first layer to the last.
struct GatheredRoot {
  static constexpr FormulaInfo info{
      "memory.transient.gathered_root",
      "unsharded tables under full sharding",
      {"zhao2023", "sec. 3.1: what no inner unit holds belongs to the outermost one"},
      "the root is not sharded again between forward and backward; the head's gradient waits for the root's "
      "reduction"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> table_parameters;
    Ratio<N> head_parameters;
    Bytes<N> weight_bytes;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n_v", "n_h", "k_w"};
  static constexpr std::array<std::string_view, 3> inputs{"parameters of the tables on the rank",
                                                          "of them the head's", "gathered weight bytes"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return named("gathered tables", in.table_parameters * in.weight_bytes) +
           named("head gradient", in.head_parameters * in.weight_bytes);
  }
  static constexpr std::array examples{Example<GatheredRoot>{
      {ratio(1050673152), ratio(525336576), bytes(2)}, 3152019456.0, "llama3-8b: three times 1002 MiB"}};
};

/// Copies that the optimizer step makes after the last backward pass.
struct OptimizerStepTransient {
  static constexpr FormulaInfo info{
      "memory.transient.optimizer_step",
      "flat copies of the shard's gradients at the optimizer step",
      {"deepspeed", "runtime/zero/stage_1_and_2.py: get_flat_partition, step; average_tensor"},
      "no activation is alive by then; the reduction's flat bucket is"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> copies;
    Bytes<N> bucket;
  };
  static constexpr std::array<std::string_view, 2> symbols{"M_s", "M_b"};
  static constexpr std::array<std::string_view, 2> inputs{"copies of the shard", "reduction bucket"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.copies + in.bucket;
  }
  static constexpr std::array examples{
      Example<OptimizerStepTransient>{{gigabytes(6), gigabytes(1)}, 7e9, "1 B parameters on one rank"}};
};

/// Before ZeRO divides them.
struct UnshardedStart {
  static constexpr FormulaInfo info{
      "memory.transient.unsharded_start",
      "whole weights of a rank before they are sharded",
      {"deepspeed", "runtime/zero/partition_parameters.py: what zero.Init avoids"},
      "the model is made whole on each device and divided afterwards; nothing else is there yet"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> weight_bytes;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "k_w"};
  static constexpr std::array<std::string_view, 2> inputs{"parameters of the rank's layers, unsharded",
                                                          "weight bytes"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.weight_bytes;
  }
  static constexpr std::array examples{Example<UnshardedStart>{
      {ratio(6.805e9), bytes(2)},
      13.61e9,
      "DeepSpeed issue 4527: 6805 M parameters, 12,979 MiB; 14,678 MiB were measured, "
      "of which about 1,573 are the device context"}};
};

}  // namespace shardplan
