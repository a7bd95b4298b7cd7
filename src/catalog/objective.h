// What is asked of the whole run: how many tokens, by when, at what price, and what a search over cluster
// sizes makes best.
//
//   Objective o;  o.kind = ObjectiveKind::kCost;  o.budget = tokens(15e12);  o.price = ...;   // of one GPU
//
// At one size every objective prefers the plan that takes least for a sequence, so that it orders sizes
// only. Prices and watts are told by a person, never by the catalog. Not here: what the run then takes
// (estimate/run_totals.h), which size is best (search/sizes.h).
#pragma once

#include <cstdint>
#include <optional>

#include "catalog/source.h"

namespace shardplan {

template <class N = double>
using UsdPerSecond = Quantity<Dim<0, -1, 0, 0, 1>, N>;
constexpr UsdPerSecond<> usd_per_hour(double v) { return UsdPerSecond<>(v / 3600.0); }
constexpr double hourly(UsdPerSecond<> rate) { return rate.raw() * 3600.0; }

enum class ObjectiveKind {
  kStepTime,      // the shortest step
  kTokensPerGpu,  // the most tokens a second and GPU
  kCost,          // the least money for the tokens
  kEnergy,        // the least energy for the tokens
  kGpus,          // the fewest GPUs that are done by the deadline
};
inline constexpr int kObjectiveKindCount = 5;
/// As --objective takes it.
const char* name(ObjectiveKind kind);

struct Objective {
  ObjectiveKind kind = ObjectiveKind::kStepTime;
  bool told = false;
  std::optional<Tokens<>> budget;                // of the whole run
  std::optional<Seconds<>> deadline;             // for them
  std::optional<Sourced<UsdPerSecond<>>> price;  // of one GPU
  std::optional<Sourced<double>> watts;          // of one GPU; energy has no dimension of its own here
  std::optional<UsdPerSecond<>> spending;        // no more than that for all GPUs

  bool about_run() const { return told || budget || price || watts; }
};

/// Cluster sizes: the multiples of `step` from `least` to `most`.
struct GpuRange {
  std::int64_t least = 1, most = 1, step = 1;
  std::int64_t first() const { return (least + step - 1) / step * step; }
  std::int64_t count() const { return most < first() ? 0 : (most - first()) / step + 1; }
};

}  // namespace shardplan
