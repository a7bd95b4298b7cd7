// What is plausible for a quantity that a person writes, in a flag or a file. Beyond these a value is a slip
// of units.
//
//   if (!kBandwidthLimits.hold(v)) ...   // "400" meant Gbit/s and was read as bytes/s
//
// Not here: which plans are legal (graph/), what fits (estimate/).
#pragma once

#include <cstdint>

namespace shardplan {

struct Limits {
  double low, high;  // SI base units, both allowed
  constexpr bool hold(double v) const { return v >= low && v <= high; }
};

inline constexpr std::int64_t kGpusMax = 1 << 24;
inline constexpr std::int64_t kDegreeMax = kGpusMax;
inline constexpr std::int64_t kZeroStageMax = 3;
inline constexpr Limits kMemoryLimits{64.0 * 1048576.0, 64.0 * 1099511627776.0};
inline constexpr Limits kHostMemoryLimits{1.0, 1024.0 * 1099511627776.0};
inline constexpr Limits kReserveLimits{0.0, 64.0 * 1099511627776.0};
inline constexpr Limits kMemoryBandwidthLimits{10e9, 1e15};
inline constexpr Limits kBandwidthLimits{1e6, 1e15};
inline constexpr Limits kLatencyLimits{0.0, 1.0};
inline constexpr Limits kMessageLimits{1.0, 1e18};
inline constexpr Limits kStepLimits{1e-9, 1e7};
inline constexpr Limits kFlopsLimits{1e9, 1e18};
inline constexpr Limits kParameterLimits{1e5, 1e15};
inline constexpr Limits kShareLimits{1e-6, 1.0};
inline constexpr Limits kOversubscriptionLimits{1.0, 1000.0};
inline constexpr Limits kGpusPerNicLimits{1.0, 1024.0};
inline constexpr Limits kMtbfHoursLimits{1.0, 1e9};  // of one GPU
inline constexpr Limits kRestartLimits{0.0, 7 * 86400.0};
inline constexpr Limits kStorageLimits{1e6, 1e15};
inline constexpr Limits kPriceLimits{1e-4, 1e4};     // USD an hour and GPU
inline constexpr Limits kWattsLimits{1.0, 1e5};      // of one GPU
inline constexpr Limits kSpendingLimits{1e-4, 1e9};  // USD an hour
inline constexpr Limits kBudgetLimits{1.0, 1e18};    // tokens of a run
inline constexpr Limits kDeadlineLimits{1.0, 1e10};
/// Cluster sizes that one search looks at.
inline constexpr std::int64_t kSizesMax = 1 << 17;

}  // namespace shardplan
