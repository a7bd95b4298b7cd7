// One peak by three counters: what tensors take, what the caching allocator took for them, what the driver
// sees.
//
//   reserved = call<ReservedPeak>({allocated, slack, step, device});   // allocated and cached blocks
//   driver = call<DriverPeak>({reserved, context, communication});     // what nvidia-smi shows
//
// Not here: what is allocated (memory_peak.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

/// What the caching allocator holds at the peak.
struct ReservedPeak {
  static constexpr FormulaInfo info{
      "memory.peak.reserved",
      "bytes that the caching allocator has taken from the device",
      {"shardplan", "reserved over allocated peaks of SimuMax's runs on B200"},
      "cached blocks that fit no later tensor, as a share of the allocated peak; the flat buffers of the "
      "optimizer step fit none either; the allocator gives cached blocks back before it fails, so this is not "
      "what decides whether a plan fits, and is never more than the device has"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> allocated;
    Ratio<N> slack;
    Bytes<N> step;
    Bytes<N> device;
  };
  static constexpr std::array<std::string_view, 4> symbols{"M", "f", "M_s", "M_d"};
  static constexpr std::array<std::string_view, 4> inputs{
      "allocated peak", "slack", "buffers of the optimizer step", "memory left for the allocator"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto wanted = in.allocated + named("slack", in.slack * in.allocated) + in.step;
    // Where even the allocated bytes do not fit, they are what is asked for.
    return max(in.allocated, min(wanted, in.device));
  }
  static constexpr std::array examples{Example<ReservedPeak>{
      {gibibytes(60), ratio(0.05), bytes(0), gibibytes(79)}, 67645734912.0, "60 GiB and a twentieth"}};
};

/// What the driver counts.
struct DriverPeak {
  static constexpr FormulaInfo info{
      "memory.peak.driver",
      "bytes that the driver counts for the process",
      {"shardplan", "nvidia-smi of a process that holds no tensor"},
      "the reserved bytes, the device context and the communicators' own buffers"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> reserved;
    Bytes<N> context;
    Bytes<N> communication;
  };
  static constexpr std::array<std::string_view, 3> symbols{"M_r", "M_c", "M_n"};
  static constexpr std::array<std::string_view, 3> inputs{"reserved peak", "device context", "communicators"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.reserved + in.context + in.communication;
  }
  static constexpr std::array examples{
      Example<DriverPeak>{{gibibytes(60), mebibytes(1573), bytes(0)}, 66073919488.0, "60 GiB and 1573 MiB"}};
};

}  // namespace shardplan
