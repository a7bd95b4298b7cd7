// What a pipeline engine keeps of all of a step's micro-batches, beside the activations in flight.
//
// PyTorch's pipelining allocates what it receives once, for each micro-batch; others receive into buffers
// that they give back. Symbols as in activations_ops.h. Not here: activations in flight
// (activations_paper.h).
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

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
  static constexpr std::array<std::string_view, 10> inputs{
      "tokens",
      "hidden size",
      "vocabulary",
      "micro-batches",
      "micro-batches in flight in a chunk",
      "chunks of the rank that receive an input",
      "chunks of the rank that send their output",
      "chunks of the rank that end in the head",
      "tensor-parallel degree",
      "degree that divides the sequence: tensor parallel with sequence parallelism, else 1"};
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
