// What a reader would take for a slip if it went unremarked: ties, bands that reach too low, shares above
// all.
//
//   tie_between(best, other);                    // TieBreak::kHeadroom: as fast, and less is free
//   step_range(workload, band, seconds(10));     // 9.5 s to 11 s where reading the batch takes 9.5 s
//
// Not here: which plan is better (search/search.h), where a band is from (catalog/evidence.h).
#pragma once

#include <optional>
#include <string>

#include "catalog/evidence.h"
#include "estimate/estimate.h"

namespace shardplan {

/// A plan that takes exactly as long as the best: what puts the best before it.
enum class TieBreak { kBusy, kHeadroom, kOrder };
/// "busy", "headroom", "order"
const char* name(TieBreak tie);
std::string tie_words(TieBreak tie);
/// Nothing where the other is slower.
std::optional<TieBreak> tie_between(const Estimate& best, const Estimate& other);

/// What a band says of a step, never less than the batch takes to be read.
struct StepRange {
  Seconds<> low, high;
  bool held = false;  // the low end stands at the reading
};
StepRange step_range(const Training& workload, const ErrorBand& band, Seconds<> step);

/// A share above 100 %, which is no slip: the convention counts work that is not done, or a lower peak.
bool more_than_all(const Utilisation& utilisation);
std::string more_than_all_words(const Utilisation& utilisation);

}  // namespace shardplan
