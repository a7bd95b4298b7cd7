// Why nothing fits: the limits that together leave no plan, the proof, and the smallest changes that make one
// fit, each planned again and with its price.
//
//   const auto why = nothing_fits(estimator, fixed, result, price, watch);
//   why->limits;     // 64 GPUs; 79.11 GiB of HBM on a GPU; nothing kept on a host
//   why->proof;      // "16 bytes x 405,853,388,800 parameters / 64 GPUs = 94.50 GiB > 74.01 GiB usable"
//   why->changes;    // "GPUs from 64 to 96: 32 more, 1.5 times as many; ..."
//
// The limits are irreducible: no plan keeps all of them, and without any one of them some plan does. Smallest
// is what costs nothing but something told, then what a host's memory is enough for, then the least factor of
// machine or sequence, then what trains otherwise. Not here: how far each has to move (fitting_changes.h).
#pragma once

#include <optional>

#include "reason/answer.h"

namespace shardplan {

/// Of a question whose search found that nothing fits; nothing where no plan is legal, or the watch stopped
/// it.
std::optional<NothingFits> nothing_fits(const Estimator& estimator, const FixedAxes& fixed,
                                        const SearchResult& result, std::optional<UsdPerSecond<>> price,
                                        SearchWatch* watch = nullptr);

}  // namespace shardplan
