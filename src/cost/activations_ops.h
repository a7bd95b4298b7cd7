// Activations op by op, for the architecture as it is, with fused attention and no dropout.
//
// Each formula is one block of a layer; each named step is one tensor that autograd keeps for the backward
// pass. Tensors between the sequence-parallel regions are divided by t_s, those inside by t. T = tokens of
// one micro-batch on the rank (s b / c). Widths are elements a token, of the whole model.
//
// Not here: what recomputation leaves out, how many micro-batches are alive (estimate/memory.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace kept {
// Bytes of one 16-bit activation, of one fp32 statistic.
inline constexpr Bytes<> kActivation = bytes(2);
inline constexpr Bytes<> kStatistic = bytes(4);
// A score with dropout: the probability, its mask, the dropped probability.
inline constexpr Bytes<> kDroppedScore = bytes(5);
// An eighth of a byte.
inline constexpr Bytes<> kBit = bytes(0.125);
// Score-sized tensors at once in the backward pass of unfused attention.
inline constexpr double kScoreTensors = 3;
// Of one element of a dropout mask.
inline constexpr Bytes<> kMask = bytes(1);
// Of one token of the batch: token, label, loss mask and position, 8 bytes each.
inline constexpr Bytes<> kBatchToken = bytes(32);
// A routed token's bookkeeping: row map and probability in fp32, for each of its experts.
inline constexpr Bytes<> kRouteEntry = bytes(8);
// The router keeps its scores, their softmax (both fp32) and a one-byte mask, for each expert.
inline constexpr Bytes<> kRouterScore = bytes(9);
// The permutation map: one fp32 entry for each token and expert.
inline constexpr Bytes<> kRowMap = bytes(4);
// The degree t_s, where a formula has it.
inline constexpr std::string_view kSequenceDegree =
    "degree that divides the sequence: tensor parallel with sequence parallelism, else 1";

template <class N>
Bytes<N> constant(const Bytes<>& q) {
  return Bytes<N>(N(q.raw()));
}
}  // namespace kept

/// One layer under selective recomputation by operation.
struct SelectiveProductActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.selective_products",
      "a layer whose every second matrix product and attention output are kept",
      {"torchtitan", "distributed/activation_checkpoint.py: the operations saved, every second product"},
      "of query, key, value, output, gate, up and down the first of each pair: query, value, gate, down; the "
      "down projection's output is whole on each rank before it is reduced"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> attention_width;
    Ratio<N> heads;
    Ratio<N> widths;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 7> symbols{"T", "h", "w_o", "a", "w_p", "t", "t_s"};
  static constexpr std::array<std::string_view, 7> inputs{"tokens",
                                                          "hidden size",
                                                          "attention output width",
                                                          "heads",
                                                          "widths of the products kept, split",
                                                          "tensor-parallel degree",
                                                          kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    return named("layer input", in.tokens * in.hidden * element / in.tensor_sequence) +
           named("attention output", in.tokens * in.attention_width * element / in.tensor) +
           named("attention statistics",
                 in.tokens * in.heads * kept::constant<N>(kept::kStatistic) / in.tensor) +
           named("products", in.tokens * (in.widths * element / in.tensor + in.hidden * element));
  }
  static constexpr std::array examples{Example<SelectiveProductActivations>{
      {ratio(16384), ratio(4096), ratio(4096), ratio(32), ratio(19456), ratio(1), ratio(1)},
      1042284544.0,
      "llama3-8b, 2 x 8192 tokens: 16384 x (3 x 8192 + 128 + 38912) bytes"}};
};

/// Layer input and first norm, common to every mixer.
struct NormActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.norm",
      "a norm's input and output, and the mask of the dropout that follows its block",
      {"transformer-engine", "pytorch/module/layernorm_linear.py"},
      "the input (the residual stream) is kept for the norm, the output for the weight "
      "gradient of the projection that reads it: its shard, or gathered, in the product's precision; a dropout "
      "mask is one byte an element"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> tensor_sequence;
    Ratio<N> output_sequence;
    Ratio<N> masks;
    Ratio<N> outputs;
    Bytes<N> output_element;
  };
  static constexpr std::array<std::string_view, 7> symbols{"T", "h", "t_s", "t_o", "m", "n_o", "k_o"};
  static constexpr std::array<std::string_view, 7> inputs{
      "tokens",
      "hidden size",
      kept::kSequenceDegree,
      "degree that divides the kept output: the same, or 1 where it is kept gathered",
      "dropout masks",
      "outputs kept: 1, or 0 where the norm is recomputed",
      "bytes of an element of the output"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto elements = in.tokens * in.hidden;
    return named("norm input", elements * kept::constant<N>(kept::kActivation) / in.tensor_sequence) +
           named("norm output", in.outputs * elements * in.output_element / in.output_sequence) +
           named("dropout mask",
                 in.masks * in.tokens * in.hidden * kept::constant<N>(kept::kMask) / in.tensor_sequence);
  }
  static constexpr std::array examples{
      Example<NormActivations>{{ratio(4096), ratio(8192), ratio(1), ratio(1), ratio(0), ratio(1), bytes(2)},
                               134217728.0,
                               "two tensors of 4096 x 8192 x 2 bytes: 2 x 64 MiB"},
      Example<NormActivations>{{ratio(4096), ratio(512), ratio(1), ratio(1), ratio(1), ratio(1), bytes(2)},
                               10485760.0,
                               "Megatron's 345M-like test: 4096 x 512 x (2 + 2 + 1) bytes"}};
};

/// Softmax attention (multi-head, grouped-query or latent), its scores kept or not.
struct AttentionActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.attention",
      "what attention keeps",
      {"dao2022",
       "sec. 3.1: output and softmax statistics instead of scores; one log-sum-exp as in dao2023 sec. 3.1"},
      "query, key and value after rotary embedding, output; fused: one fp32 statistic a head; unfused: "
      "the probabilities, and with dropout their mask and the dropped ones; a context-parallel rank "
      "keeps its output twice, before and after the exchange"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> query_width;
    Ratio<N> kv_width;
    Ratio<N> value_width;
    Ratio<N> latent_width;
    Ratio<N> norm_width;
    Ratio<N> outputs;
    Ratio<N> statistics;
    Ratio<N> scores;
    Bytes<N> score_bytes;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 12> symbols{"T",   "w_q", "w_kv", "w_o", "w_l", "w_n",
                                                            "n_o", "a",   "n_s",  "k_s", "t",   "t_s"};
  static constexpr std::array<std::string_view, 12> inputs{"tokens",
                                                           "query width",
                                                           "key and value width",
                                                           "value width",
                                                           "latent width",
                                                           "width of the query and key norms' inputs",
                                                           "copies of the output",
                                                           "heads whose statistics are kept",
                                                           "scores kept a token: heads times keys",
                                                           "bytes a score",
                                                           "tensor-parallel degree",
                                                           kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    const auto statistic = kept::constant<N>(kept::kStatistic);
    return named("query, key, value", in.tokens * (in.query_width + in.kv_width) * element / in.tensor) +
           named("attention output", in.outputs * in.tokens * in.value_width * element / in.tensor) +
           named("log-sum-exp", in.tokens * in.statistics * statistic / in.tensor) +
           named("scores", in.tokens * in.scores * in.score_bytes / in.tensor) +
           named("query and key norm inputs", in.tokens * in.norm_width * element / in.tensor) +
           named("low-rank latents", in.tokens * in.latent_width * element / in.tensor_sequence);
  }
  static constexpr std::array examples{
      Example<AttentionActivations>{{ratio(4096), ratio(8192), ratio(2048), ratio(8192), ratio(0), ratio(0),
                                     ratio(1), ratio(64), ratio(0), bytes(0), ratio(1), ratio(1)},
                                    152043520.0,
                                    "llama3-70b: 4096 x (2 x (8192 + 2048 + 8192) + 4 x 64) bytes"},
      Example<AttentionActivations>{{ratio(4096), ratio(512), ratio(1024), ratio(512), ratio(0), ratio(0),
                                     ratio(1), ratio(0), ratio(8192), bytes(5), ratio(1), ratio(1)},
                                    184549376.0,
                                    "12-layer test of Megatron: 4096 x (2 x 2048 + 5 x 8 x 1024) bytes"}};
};

/// Recurrent mixers (Mamba-2, gated delta net): projection outputs, convolution, gate and output.
struct RecurrentActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.recurrent",
      "what a recurrent mixer keeps",
      {"shardplan", "tensors of the reference forward pass, chunk states not counted"},
      "16-bit inner tensors divided over the tensor-parallel group; the chunked scan keeps no "
      "per-token state"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> value_width;
    Ratio<N> extra_width;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "w_o", "w_x", "t"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "value width", "extra width",
                                                          "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    return named("mixer output", in.tokens * in.value_width * element / in.tensor) +
           named("inner tensors", in.tokens * in.extra_width * element / in.tensor);
  }
  static constexpr std::array examples{Example<RecurrentActivations>{
      {ratio(1024), ratio(4096), ratio(16448), ratio(1)}, 42074112.0, "1024 x (4096 + 16448) x 2 bytes"}};
};

/// Dense MLP: output of the first projection and of the activation.
struct MlpActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.mlp",
      "what a dense MLP keeps",
      {"megatron-core", "fusions/fused_bias_swiglu.py, fused_bias_gelu.py"},
      "the fused activation keeps its input only; its output is the second projection's input; one "
      "that is not fused keeps the factors of a gate too"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> width;
    Ratio<N> matrices;
    Ratio<N> copies;
    Ratio<N> tensor;
    Bytes<N> output_element;
  };
  static constexpr std::array<std::string_view, 6> symbols{"T", "f", "g", "n_c", "t", "k_o"};
  static constexpr std::array<std::string_view, 6> inputs{
      "tokens",
      "width",
      "matrices of the first projection",
      "further widths kept by an unfused activation",
      "tensor-parallel degree",
      "bytes of an element of the second projection's input"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto elements = in.tokens * in.width;
    const auto one = elements * kept::constant<N>(kept::kActivation) / in.tensor;
    return named("first projection", in.matrices * one) +
           named("activation", elements * in.output_element / in.tensor) +
           named("unfused activation", in.copies * one);
  }
  static constexpr std::array examples{
      Example<MlpActivations>{{ratio(4096), ratio(28672), ratio(2), ratio(0), ratio(1), bytes(2)},
                              704643072.0,
                              "llama3-70b: 3 x 4096 x 28672 x 2 bytes"}};
};

/// Routed experts with balanced load: router, permuted tokens, expert projections.
struct MoeActivations {
  static constexpr FormulaInfo info{
      "memory.activations.ops.moe",
      "what routed experts keep",
      {"megatron-core", "transformer/moe/{router,token_dispatcher,experts}.py"},
      "every expert receives the same number of tokens, or the fullest rank a told multiple of it; "
      "probabilities applied in the activation"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> routed_tokens;  // tokens entering the dispatcher on this rank
    Ratio<N> experts;
    Ratio<N> top_k;
    Ratio<N> hidden;
    Ratio<N> width;
    Ratio<N> matrices;
    Ratio<N> expert_tensor;
    Ratio<N> unweighted;
    Ratio<N> gathered_ranks;
    Ratio<N> activations;
    Ratio<N> inputs_kept;
  };
  static constexpr std::array<std::string_view, 11> symbols{"T_r", "E",   "k",   "h",   "f_e", "g",
                                                            "t_e", "n_u", "n_g", "n_a", "n_i"};
  static constexpr std::array<std::string_view, 11> inputs{
      "routed tokens: tokens entering the dispatcher on this rank",
      "experts",
      "experts a token",
      "hidden size",
      "width",
      "matrices of the first projection",
      "tensor-parallel degree of an expert",
      "copies of the activation before the router's weight, where that is a kernel of its own",
      "ranks whose tokens are gathered before they are picked, 0 where tokens are sent",
      "activation outputs kept: 1, or 0 where the activation is recomputed or its product is frozen",
      "permuted tokens kept: 1, or 0 where the first projection is frozen"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    // Each rank of an expert-tensor group receives the tokens of all of them.
    const auto rows = named("rows received", in.routed_tokens * in.top_k * in.expert_tensor);
    const auto projection = rows * in.width * element / in.expert_tensor;
    return named("router", in.routed_tokens * in.experts * kept::constant<N>(kept::kRouterScore)) +
           named("permuted tokens", in.inputs_kept * rows * in.hidden * element) +
           named("row map", in.routed_tokens * in.experts * kept::constant<N>(kept::kRowMap) +
                                rows * kept::constant<N>(kept::kRouteEntry)) +
           named("first projection", in.matrices * projection) +
           named("activation", in.activations * projection) +
           named("unweighted activation", in.unweighted * projection) +
           named("gathered tokens", in.gathered_ranks * in.routed_tokens * in.hidden * element);
  }
  static constexpr std::array examples{Example<MoeActivations>{
      {ratio(4096), ratio(8), ratio(2), ratio(4096), ratio(14336), ratio(2), ratio(1), ratio(0), ratio(0),
       ratio(1), ratio(1)},
      772243456.0,
      "mixtral-8x7b: 4096 x 8 x 9 + 8192 x 4096 x 2 + (4096 x 8 x 4 + 8192 x 8) + 3 x 8192 x 14336 x 2 bytes"}};
};

/// What a stage keeps of each micro-batch in flight beside its layers.
struct StageEdgeActivations {
  static constexpr FormulaInfo info{
      "memory.activations.stage_edges",
      "kept at the ends of a stage for one micro-batch",
      {"deepspeed", "runtime/pipe/engine.py: pipe_buffers"},
      "the 16-bit output where the pipeline engine keeps it, the one-byte mask of the embedding's dropout on "
      "the first stage"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> outputs;
    Ratio<N> masks;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 5> symbols{"T", "h", "n_o", "m", "t_s"};
  static constexpr std::array<std::string_view, 5> inputs{"tokens", "hidden size", "outputs kept",
                                                          "dropout masks", kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto elements = in.tokens * in.hidden / in.tensor_sequence;
    return named("outputs", in.outputs * elements * kept::constant<N>(kept::kActivation)) +
           named("dropout mask", in.masks * elements * kept::constant<N>(kept::kMask));
  }
  static constexpr std::array examples{
      Example<StageEdgeActivations>{{ratio(2048), ratio(14336), ratio(1), ratio(1), ratio(1)},
                                    88080384.0,
                                    "one sequence of the BLOOM sweep: (2 + 1) x 2048 x 14336 bytes"}};
};

}  // namespace shardplan
