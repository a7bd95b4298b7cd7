#include "reason/remarks.h"

#include <algorithm>
#include <array>

namespace shardplan {

const char* name(TieBreak tie) {
  static constexpr std::array<const char*, 3> kNames{"busy", "headroom", "order"};
  return kNames[static_cast<std::size_t>(tie)];
}

std::string tie_words(TieBreak tie) {
  switch (tie) {
    case TieBreak::kBusy:
      return "as fast: the best is busy for less of it";
    case TieBreak::kHeadroom:
      return "as fast: the best leaves more free";
    case TieBreak::kOrder:
      break;
  }
  return "as fast and as much free: the best comes first in the order of plans";
}

std::optional<TieBreak> tie_between(const Estimate& best, const Estimate& other) {
  // As the search ranks: where reading the batch sets the pace, all that keep up with it are as fast.
  const auto waits = [](const Estimate& e) { return e.time[TimeTerm::kLoading].exposed(); };
  const auto pace = [&](const Estimate& e) {
    return waits(e) > seconds(0) ? e.time[TimeTerm::kLoading].time : e.step;
  };
  if (!(pace(best) == pace(other))) return std::nullopt;
  if (!(best.step - waits(best) == other.step - waits(other))) return TieBreak::kBusy;
  return best.headroom() == other.headroom() ? TieBreak::kOrder : TieBreak::kHeadroom;
}

StepRange step_range(const Training& workload, const ErrorBand& band, Seconds<> step) {
  const Seconds<> low = seconds(band.low(step.raw())), high = seconds(band.high(step.raw()));
  const Seconds<> least = workload.data_loading.value_or(seconds(0));
  return {std::max(low, least), std::max(high, least), low < least};
}

bool more_than_all(const Utilisation& u) { return u.mfu > ratio(1) || u.hfu > ratio(1); }

std::string more_than_all_words(const Utilisation& u) {
  return std::string(u.convention) + " above 100 % is no slip: it counts " + u.counts;
}

}  // namespace shardplan
