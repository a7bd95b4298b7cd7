// Times of one layer and one micro-batch on one rank, by kind of work. Private to estimate/.
#pragma once

#include "cost/compute.h"
#include "estimate/estimator.h"

namespace shardplan {

/// Speeds of the device in the question's precision, ready as formula inputs.
template <class N>
struct Estimator::Rates {
  FlopsPerSecond<N> gemm;
  FlopsPerSecond<N> logits;  // 16-bit whatever the precision
  FlopsPerSecond<N> attention;
  Ratio<N> k_half;
  Bytes<N> element;     // of a GEMM operand
  Bytes<N> activation;  // 16-bit
  BytesPerSecond<N> memory;
  Seconds<N> launch;

  Rates(const Device& device, Precision precision);
};

template <class N>
struct Estimator::LayerTime {
  Seconds<N> gemm_forward{}, gemm_backward{};
  Seconds<N> gemm_weight{};  // part of gemm_backward: gradients of the weights
  Seconds<N> attention_forward{}, attention_backward{};
  Seconds<N> memory_forward{}, memory_backward{};
  Seconds<N> launch{};
  Seconds<N> tensor{};                                               // collectives of one direction
  Seconds<N> expert{};                                               // all-to-alls of one direction
  Seconds<N> context_forward{}, context_backward{};                  // ring traffic
  Seconds<N> context_forward_exposed{}, context_backward_exposed{};  // beyond the attention it hides under
  Seconds<N> recompute{};

  Seconds<N> forward() const { return gemm_forward + attention_forward + memory_forward; }
  Seconds<N> backward() const { return gemm_backward + attention_backward + memory_backward; }
  /// Everything that this layer takes from a micro-batch's pass over its rank.
  Seconds<N> total() const {
    return forward() + backward() + launch + recompute + 2.0 * tensor + 2.0 * expert +
           context_forward_exposed + context_backward_exposed;
  }
};

}  // namespace shardplan
