// How often a run on a cluster is interrupted, and what an interruption costs: figures that a planner cannot
// measure, each with its source.
//
//   cluster.reliability.mtbf_gpu.value    // 50,677 h: what Llama 3 405B saw of one GPU
//   cluster.reliability.checkpoint_bandwidth(64)   // of the storage, for 64 GPUs
//
// Data: catalog/reliability.json, unless a cluster file or a flag tells them. Not here: what follows from
// them (cost/reliability.h, estimate/interruptions.h).
#pragma once

#include <cstdint>
#include <optional>

#include "catalog/source.h"

namespace shardplan {

struct Reliability {
  /// Mean time between interruptions of a run that one GPU brings with it, its share of host and network
  /// included; 0 = nothing is known.
  Sourced<Seconds<>> mtbf_gpu{};
  Sourced<Seconds<>> restart{};                      // from the interruption until steps go on
  Sourced<BytesPerSecond<>> storage_gpu{};           // writing of a checkpoint, the share of one GPU
  std::optional<Sourced<BytesPerSecond<>>> storage;  // for all of them, where it was told

  bool known() const { return mtbf_gpu.value > seconds(0) && storage_gpu.value > bytes_per_s(0); }
  Sourced<BytesPerSecond<>> checkpoint_bandwidth(std::int64_t gpus) const {
    if (storage) return *storage;
    return {static_cast<double>(gpus) * storage_gpu.value, storage_gpu.source};
  }
};

}  // namespace shardplan
