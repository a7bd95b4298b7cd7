// Buffers that a framework keeps beside its state and activations, for good or to the end of a step.
//
// Which framework has which is data (catalog/frameworks.json). PyTorch's pipelining allocates what it
// receives once, for each micro-batch; others receive into buffers that they give back. Symbols as in
// activations_ops.h. Not here: activations in flight (activations_paper.h), what is alive for a moment
// (memory_peak.h).
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

/// Gradients that autograd is handed in place of the accumulated ones.
struct PlaceholderGradients {
  static constexpr FormulaInfo info{
      "memory.buffers.placeholder_gradients",
      "cached placeholder gradients",
      {"transformer-engine", "pytorch/module/base.py: get_dummy_wgrad"},
      "16-bit; one for each distinct shape of a linear weight on the rank, kept for good"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> elements;
    Ratio<N> copies;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n_d", "n_p"};
  static constexpr std::array<std::string_view, 2> inputs{
      "elements of the distinct weight shapes", "placeholders for each: 1 where the framework has them"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.copies * in.elements * kept::constant<N>(kept::kActivation);
  }
  static constexpr std::array examples{Example<PlaceholderGradients>{
      {ratio(855638016), ratio(1)}, 1711276032.0, "llama3-70b: 896 + 448 + 160 + 128 MiB"}};
};

/// Copies of the weights in the precision of the matrix products.
struct QuantizedWeights {
  static constexpr FormulaInfo info{
      "memory.buffers.quantized_weights",
      "low-precision copies of the linear layers' weights",
      {"transformer-engine", "pytorch/module/base.py: weight workspaces"},
      "one for the forward product and one for the backward, each with its scales, kept for good"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> copies;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n_l", "k_q"};
  static constexpr std::array<std::string_view, 2> inputs{"parameters of linear layers on the rank",
                                                          "bytes of the copies of each"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.copies;
  }
  static constexpr std::array examples{
      Example<QuantizedWeights>{{ratio(8e9), bytes(2)}, 16e9, "8 B parameters, two fp8 copies"},
      Example<QuantizedWeights>{{ratio(8e9), bytes(2.0625)}, 16.5e9, "with an mxfp8 scale byte for each 32"}};
};

/// The buffer into which sequence-parallel shards are gathered.
struct SequenceGatherBuffer {
  static constexpr FormulaInfo info{"memory.buffers.sequence_gather",
                                    "sequence-parallel gather buffer",
                                    {"megatron-core", "tensor_parallel/layers.py: the global memory buffer"},
                                    "one residual stream of a micro-batch, kept for good"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> copies;
  };
  static constexpr std::array<std::string_view, 3> symbols{"T", "h", "n_b"};
  static constexpr std::array<std::string_view, 3> inputs{
      "tokens", "hidden size", "buffers: 1 with sequence parallelism where the framework has one"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.copies * in.tokens * in.hidden * kept::constant<N>(kept::kActivation);
  }
  static constexpr std::array examples{Example<SequenceGatherBuffer>{
      {ratio(4096), ratio(8192), ratio(1)}, 67108864.0, "2 x 4096 x 8192 bytes"}};
};

/// The batch as the loader hands it over.
struct BatchBuffers {
  static constexpr FormulaInfo info{
      "memory.buffers.batch",
      "tokens, labels, loss mask, positions",
      {"megatron-core", "pretrain_gpt.py: get_batch"},
      "four 8-byte tensors of a micro-batch, whole on every rank; a boolean attention mask where one is built"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> sequence;
    Ratio<N> sequences;
    Ratio<N> masks;
  };
  static constexpr std::array<std::string_view, 3> symbols{"s", "b", "m"};
  static constexpr std::array<std::string_view, 3> inputs{"sequence", "sequences of a micro-batch",
                                                          "attention masks for each sequence"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return named("tokens", in.sequences * in.sequence * kept::constant<N>(kept::kBatchToken)) +
           named("attention mask",
                 in.masks * in.sequences * in.sequence * in.sequence * kept::constant<N>(kept::kMask));
  }
  static constexpr std::array examples{
      Example<BatchBuffers>{{ratio(1024), ratio(4), ratio(1)},
                            4325376.0,
                            "Megatron's 12-layer tests: 32 x 1024 x 4 + 4 x 1024 x 1024 bytes"}};
};

/// What a pipeline engine keeps of all of a step's micro-batches, beside the activations in flight.
struct PipelineBuffers {
  static constexpr FormulaInfo info{
      "memory.buffers.pipeline",
      "tensors between stages, kept to the end of the step",
      {"torch-pipelining",
       "stage.py: _prepare_forward_infra, _create_grad_recv_info, fwd_cache, output_chunks"},
      "one receive buffer a micro-batch in each direction; what was sent, until its backward pass; the gradient "
      "of a received input, from its backward pass on; on the last stage the 16-bit logits of all micro-batches; "
      "a received input in flight is the activation that its first layer keeps, and is counted there"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> vocabulary;
    Ratio<N> micro_batches;
    Ratio<N> in_flight;
    Ratio<N> receiving;
    Ratio<N> sending;
    Ratio<N> last;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 10> symbols{"T",   "h",   "V",   "m", "m_f",
                                                            "n_r", "n_s", "n_l", "t", "t_s"};
  static constexpr std::array<std::string_view, 10> inputs{"tokens",
                                                           "hidden size",
                                                           "vocabulary",
                                                           "micro-batches",
                                                           "micro-batches in flight in a chunk",
                                                           "chunks of the rank that receive an input",
                                                           "chunks of the rank that send their output",
                                                           "chunks of the rank that end in the head",
                                                           "tensor-parallel degree",
                                                           kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto element = kept::constant<N>(kept::kActivation);
    const auto stream = in.tokens * in.hidden * element / in.tensor_sequence;
    const auto idle = named("micro-batches not in flight", in.micro_batches - in.in_flight);
    return named("inputs and their gradients", 2.0 * in.receiving * idle * stream) +
           named("gradients received", in.sending * in.micro_batches * stream) +
           named("outputs", in.sending * in.in_flight * stream) +
           named("logits", in.last * in.micro_batches * in.tokens * in.vocabulary * element / in.tensor);
  }
  static constexpr std::array examples{
      Example<PipelineBuffers>{{ratio(32768), ratio(16384), ratio(128256), ratio(8), ratio(7), ratio(1),
                                ratio(1), ratio(0), ratio(8), ratio(8)},
                               2281701376.0,
                               "llama3.1-405b, second of 8 stages: (2 + 8 + 7) x 4096 x 16384 x 2 bytes"},
      Example<PipelineBuffers>{{ratio(32768), ratio(16384), ratio(128256), ratio(8), ratio(1), ratio(1),
                                ratio(0), ratio(1), ratio(8), ratio(8)},
                               10284433408.0,
                               "the last: 14 x 128 MiB, and 8 x 32768 x 16032 x 2 bytes of logits"}};
};

}  // namespace shardplan
