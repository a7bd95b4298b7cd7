// Every value that is taken when a question does not tell one. Each is listed in the answer as an assumption.
//
//   cluster.reserve_fixed = {kReserveFixed, assumed_source(kReserveReason)};
//
// Not here: numbers about hardware, models or frameworks (catalog/*.json). The cluster and the device that
// stand in when none is told are catalog entries; only their names are here.
#pragma once

#include <cstdint>

#include "catalog/plan.h"
#include "catalog/workload.h"
#include "units/quantity.h"

namespace shardplan {

inline constexpr const char* kDefaultCluster = "course-64";
inline constexpr const char* kDefaultFramework = "generic";
inline constexpr Optimizer kDefaultOptimizer = Optimizer::kAdamW;
inline constexpr std::int64_t kDefaultSequence = 4096;
/// A batch of about 4 Mi tokens, the size of published pre-training runs of tens to hundreds of billions of
/// parameters; rounded up to whole sequences and to a multiple of the GPUs so that every layout divides it.
inline constexpr double kDefaultBatchTokens = 4194304.0;

/// Held back from HBM: context and communication buffers, and a share for fragmentation.
inline constexpr Bytes<> kReserveFixed = gibibytes(2);
inline constexpr Ratio<> kReserveShare = ratio(0.04);

/// Sequences that `serve` decodes together.
inline constexpr std::int64_t kServeBatch = 1;

/// Width of the gradients that `comm --params` reduces: bf16.
inline constexpr Bytes<> kGradientWidth = bytes(2);

// What `memory` takes for the axes that are not told.
inline constexpr std::int8_t kMemoryZeroStage = 3;
inline constexpr std::int32_t kMemoryMicroBatch = 1;
/// Model chunks a rank, for --schedule interleaved without --interleave.
inline constexpr std::int32_t kInterleavedChunks = 2;

/// Feed-forward width of a model given by hand without --ffn, in units of the hidden size; two matrices.
inline constexpr std::int64_t kFfnOverHidden = 4;

/// A shape by hand that counts to this many times more or less than --params is remarked upon.
inline constexpr double kHandCountFactor = 1.5;

/// A token batch may move by this share to become a multiple of the GPUs.
inline constexpr double kBatchRounding = 0.05;

}  // namespace shardplan
