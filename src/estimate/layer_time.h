// Times of one layer and one micro-batch on one rank, by kind of work. Private to estimate/.
#pragma once

#include <array>
#include <cstdint>

#include "cost/compute.h"
#include "estimate/estimator.h"

namespace shardplan {

/// Speeds of memory-bound kernels and of launches, ready as formula inputs.
template <class N>
struct Estimator::PassRates {
  Bytes<N> activation;  // 16-bit
  BytesPerSecond<N> memory;
  Ratio<N> elementwise;  // memory traffic over that of fused kernels
  Seconds<N> launch;

  explicit PassRates(const Question& question);
};

/// And of matrix products, in the question's precision.
template <class N>
struct Estimator::Rates : PassRates<N> {
  /// Of matrix products in one precision.
  struct Products {
    FlopsPerSecond<N> rate;
    Ratio<N> k_half;
    Bytes<N> element;
    Products(const Question& question, Precision precision);
  };
  Products low;   // of the layers
  Products full;  // 16-bit whatever the precision: the head, stored scores
  FlopsPerSecond<N> attention;
  Ratio<N> tile_columns, processors, wave_share;

  explicit Rates(const Question& question);
};

template <class N>
struct Estimator::LayerTime {
  Seconds<N> gemm_forward{}, gemm_backward{};
  Seconds<N> gemm_weight{};  // part of gemm_backward: gradients of the weights
  Seconds<N> attention_forward{}, attention_backward{};
  Seconds<N> memory_forward{}, memory_backward{};
  Seconds<N> launch_forward{}, launch_backward{};  // the device waiting for the host
  Seconds<N> routing{};                            // fixed time of experts, one direction
  Seconds<N> tensor_forward{}, tensor_backward{};  // collectives
  Seconds<N> tensor_forward_exposed{}, tensor_backward_exposed{};
  Seconds<N> expert{}, expert_exposed{};                             // all-to-alls of one direction
  Seconds<N> context_forward{}, context_backward{};                  // ring traffic
  Seconds<N> context_forward_exposed{}, context_backward_exposed{};  // beyond the attention it hides under
  Seconds<N> recompute{};                                            // filled by recompute_time()

  /// Forward time of the matrix products that the same modules run.
  struct Products {
    std::uint8_t modules = 0;
    Seconds<N> forward{};
  };
  std::array<Products, kModuleCount> of_modules;

  Seconds<N> forward() const { return gemm_forward + attention_forward + memory_forward; }
  Seconds<N> backward() const { return gemm_backward + attention_backward + memory_backward; }
  /// What the forward pass takes of a micro-batch's pass over its rank.
  Seconds<N> forward_pass() const {
    return forward() + launch_forward + routing + tensor_forward_exposed + expert_exposed +
           context_forward_exposed;
  }
  Seconds<N> backward_pass() const {
    return backward() + launch_backward + routing + recompute + tensor_backward_exposed + expert_exposed +
           context_backward_exposed;
  }
  /// Everything that this layer takes from a micro-batch's pass over its rank.
  Seconds<N> total() const { return forward_pass() + backward_pass(); }
};

}  // namespace shardplan
