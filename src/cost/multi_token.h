// What the last stage keeps for multi-token-prediction layers, and for weight gradients of the head that
// wait.
//
// A prediction layer reads the embedding of the next token beside the residual stream: two norms, one product
// 2 h -> h, one layer of the model, then the head and a loss of its own. Here is what that adds to the layer.
// Symbols as in activations_ops.h. Not here: its parameters (estimate/memory.cpp).
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

/// Between the model's last layer and the prediction layer.
struct PredictionInputActivations {
  static constexpr FormulaInfo info{
      "memory.activations.prediction_input",
      "kept where a multi-token-prediction layer is fed",
      {"megatron-core", "transformer/multi_token_prediction.py: _concat_embeddings"},
      "the inputs of both norms, and their outputs side by side as the input of the product"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> layers;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "h", "n_m", "t_s"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "hidden size", "prediction layers",
                                                          kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto stream = in.tokens * in.hidden * kept::constant<N>(kept::kActivation) / in.tensor_sequence;
    return in.layers * (named("norm inputs", 2.0 * stream) + named("norm outputs", 2.0 * stream));
  }
  static constexpr std::array examples{
      Example<PredictionInputActivations>{{ratio(16384), ratio(7168), ratio(1), ratio(2)},
                                          469762048.0,
                                          "DeepSeek-V3, 4 x 4096 tokens on 2 ranks: 8 x 8192 x 7168 bytes"}};
};

/// The prediction layer's own loss, alive when the main one is computed.
struct PredictionLogits {
  static constexpr FormulaInfo info{
      "memory.logits.prediction",
      "what the loss of a multi-token-prediction layer keeps",
      {"megatron-core",
       "transformer/multi_token_prediction.py: process_mtp_loss; "
       "tensor_parallel/cross_entropy.py: exp_logits saved"},
      "one fp32 softmax a prediction layer, kept from its loss, which is computed first, to its backward pass"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> vocabulary;
    Ratio<N> layers;
    Ratio<N> tensor;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "V", "n_m", "t"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "vocabulary", "prediction layers",
                                                          "tensor-parallel degree"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.layers * in.tokens * in.vocabulary * kept::constant<N>(kept::kStatistic) / in.tensor;
  }
  static constexpr std::array examples{
      Example<PredictionLogits>{{ratio(4096), ratio(129280), ratio(1), ratio(1)},
                                2118123520.0,
                                "DeepSeek-V3, one sequence: 4096 x 129280 x 4 bytes"}};
};

/// Inputs of the head's weight gradients that are computed when the step ends.
struct DeferredHeadGradients {
  static constexpr FormulaInfo info{
      "memory.transient.deferred_head_gradients",
      "kept until the head's weight gradients are computed",
      {"megatron-core", "tensor_parallel/layers.py: embedding_activation_buffer, grad_output_buffer"},
      "the head's input and the gradient of its logits, in 16 bits, for each micro-batch that waits"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> vocabulary;
    Ratio<N> micro_batches;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 6> symbols{"T", "h", "V", "m_d", "t", "t_s"};
  static constexpr std::array<std::string_view, 6> inputs{"tokens",
                                                          "hidden size",
                                                          "vocabulary",
                                                          "micro-batches that wait",
                                                          "tensor-parallel degree",
                                                          kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    return in.micro_batches * (named("logit gradients", in.tokens * in.vocabulary * element / in.tensor) +
                               named("head inputs", in.tokens * in.hidden * element / in.tensor_sequence));
  }
  static constexpr std::array examples{
      Example<DeferredHeadGradients>{{ratio(4096), ratio(512), ratio(50432), ratio(2), ratio(2), ratio(1)},
                                     421527552.0,
                                     "Megatron's 12-layer test: 2 x 4096 x (50432 / 2 + 512) x 2 bytes"}};
};

}  // namespace shardplan
