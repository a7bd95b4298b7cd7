// State and activations that wait in the host's memory: what stays on the device, and the time of the way
// there and back.
//
// Worked value: the optimizer of 7 B parameters is 84 GB of host memory at 12 bytes each; its updated weights
// come back over 64 GB/s in 0.22 s. Not here: which framework can offload what (catalog/frameworks.json).
#pragma once

#include "formula/formula.h"

namespace shardplan {

/// Kept activations that stay on the device.
struct ActivationsOnDevice {
  static constexpr FormulaInfo info{
      "memory.offload.activations_on_device",
      "kept activations that stay on the device",
      {"transformer-engine", "pytorch/cpu_offload.py: a layer's tensors leave while the next one runs"},
      "two layers: the one that runs and the one that is being copied; everything else waits in host memory"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> kept;
    Bytes<N> layer;
  };
  static constexpr std::array<std::string_view, 2> symbols{"M_a", "M_l"};
  static constexpr std::array<std::string_view, 2> inputs{"activations kept",
                                                          "of one layer and one micro-batch"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return min(in.kept, 2.0 * in.layer);
  }
  static constexpr std::array examples{Example<ActivationsOnDevice>{
      {gibibytes(28), gibibytes(1)}, 2147483648.0, "28 layers of 1 GiB: two of them stay"}};
};

/// Gradients on the device on their way to the host.
struct GradientsOnDevice {
  static constexpr FormulaInfo info{
      "memory.offload.gradients_on_device",
      "gradients on their way to the host",
      {"ren2021", "sec. 4.1: gradients are moved as they are produced; a small buffer stays"},
      "the reduction's bucket, or one layer's gradients where that is more; no more than there are"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> gradients;
    Bytes<N> layer;
    Bytes<N> bucket;
  };
  static constexpr std::array<std::string_view, 3> symbols{"M_g", "M_l", "M_b"};
  static constexpr std::array<std::string_view, 3> inputs{"gradients of the stage", "of one layer",
                                                          "reduction bucket"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return min(in.gradients, max(in.layer, in.bucket));
  }
  static constexpr std::array examples{Example<GradientsOnDevice>{
      {gigabytes(14), gigabytes(0.4), gigabytes(1)}, 1e9, "a 7 B model: the bucket of 1 GB"}};
};

/// Bytes over the link between a device and its host.
struct HostTransfer {
  static constexpr FormulaInfo info{
      "offload.transfer",
      "bytes moved between device and host",
      {"ren2021", "sec. 3: the link between GPU and CPU bounds what can be offloaded"},
      "the sold rate of one direction, nothing shared with other devices"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 2> symbols{"S", "B_h"};
  static constexpr std::array<std::string_view, 2> inputs{"bytes moved", "bandwidth of the host link"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<HostTransfer>{
      {gigabytes(14), gigabytes_per_s(64)}, 0.21875, "7 B weights in 16 bits over PCIe 5.0"}};
};

/// The optimizer step on the processors of a node.
struct HostOptimizerTime {
  static constexpr FormulaInfo info{
      "offload.optimizer",
      "optimizer step on the host",
      {"ren2021", "sec. 5.1: the CPU-Adam step"},
      "the ranks of a node share its processors; their rate does not depend on the model"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Ratio<N> ranks;
    PerSecond<N> rate;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n", "g", "R"};
  static constexpr std::array<std::string_view, 3> inputs{
      "parameters that the rank updates", "ranks of a node", "parameters a node updates in a second"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.parameters * in.ranks / in.rate;
  }
  static constexpr std::array examples{
      Example<HostOptimizerTime>{{ratio(11.6e9), ratio(1), per_s(1.41463414634e9)},
                                 8.2,
                                 "11.6 B parameters in 8.2 s: DeepSpeed pull request 735",
                                 1e-9}};
};

}  // namespace shardplan
