// An accelerator: what the vendor sells, what the runtime reports, what kernels reach. Every number has a
// source.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/source.h"
#include "catalog/timing.h"
#include "catalog/torus.h"

namespace shardplan {

enum class Precision { kFp32, kTf32, kBf16, kFp16, kFp8, kInt8, kFp4 };
inline constexpr int kPrecisionCount = 7;
const char* name(Precision precision);
std::optional<Precision> precision_named(std::string_view text);

enum class ScaleUpKind { kSwitch, kMesh, kTorus, kPcie };
const char* name(ScaleUpKind kind);

/// The link between the accelerators of one domain (NVLink, xGMI, ICI, PCIe), per accelerator and direction.
struct ScaleUp {
  ScaleUpKind kind = ScaleUpKind::kSwitch;
  Sourced<Ratio<>> domain_size;
  Sourced<BytesPerSecond<>> bandwidth;           // as sold
  Sourced<BytesPerSecond<>> achieved_bandwidth;  // bus bandwidth of large ring collectives
  Sourced<Seconds<>> latency;                    // of one ring step; of one hop on a torus
  std::optional<TorusPod> torus;                 // where the kind is one; a chip's links together
};

/// Shares of the datasheet figures that kernels reach, and the floors.
struct Efficiency {
  std::array<std::optional<Sourced<Ratio<>>>, kPrecisionCount> gemm;  // of the dense peak, large shapes
  std::array<std::optional<Sourced<Ratio<>>>, kPrecisionCount>
      gemm_k_half;             // K0: rate is peak * e * K / (K + K0)
  Sourced<Ratio<>> attention;  // of the bf16 peak, fused forward
  Sourced<Ratio<>> memory;     // of HBM bandwidth, memory-bound kernels
  Sourced<Seconds<>> kernel_launch;
  Sourced<Ratio<>> contention;  // share of hidden communication that still slows the compute beside it
};

struct Device {
  std::string name;
  std::vector<std::string> aliases;
  std::string vendor;
  std::string architecture;
  std::string note;  // what one entry stands for, where that is not plain ("one entry is one die")
  Sourced<Bytes<>> memory_sold;
  Sourced<Bytes<>> memory_reported;  // what the runtime reports: the figure a plan is held against
  Sourced<BytesPerSecond<>> memory_bandwidth;
  std::array<std::optional<Sourced<FlopsPerSecond<>>>, kPrecisionCount> peak;  // dense
  ScaleUp scale_up;
  std::optional<Sourced<BytesPerSecond<>>> pcie_bandwidth;
  std::optional<Sourced<Ratio<>>> sm_count;
  Efficiency efficiency;
  KernelLaw law;
  bool ideal = false;  // does what its figures say: no law of real kernels applies
  std::string usual_fabric;
  std::int64_t usual_gpus_per_node = 8;

  /// NVIDIA's generations whose libraries keep the smaller workspaces.
  bool before_hopper() const {
    return architecture == "Volta" || architecture == "Ampere" || architecture == "Ada";
  }
  /// Generations whose fp8 products know no scales of blocks of 32, as mxfp8 has.
  bool before_block_scales() const {
    return architecture == "Ada" || architecture == "Hopper" || architecture == "CDNA3";
  }
};

/// A network between scale-up domains, per accelerator and direction.
struct Fabric {
  std::string name;
  std::vector<std::string> aliases;
  std::string description;
  Sourced<BytesPerSecond<>> bandwidth;  // line rate
  Sourced<Ratio<>> efficiency;          // share that large ring collectives reach
  Sourced<Seconds<>> latency;           // of one network hop
  std::optional<Sourced<Ratio<>>> gpus_per_nic;
};

}  // namespace shardplan
