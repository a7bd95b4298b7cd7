#include "search/search.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace shardplan {
namespace {

using Layout = std::array<std::int32_t, 6>;
Layout layout(const Plan& p) { return {p.dp, p.tp, p.pp, p.cp, p.ep, p.etp}; }

double sequences(const Plan& p) { return static_cast<double>(p.dp) * p.micro_batch * p.grad_accumulation; }

void miss(Census& census, const Plan& plan, const MemoryBreakdown<>& memory, int stage, Constraint broken,
          Bytes<> usable) {
  ++census.rejected[static_cast<std::size_t>(broken)];
  if (broken == Constraint::kHostMemory) return;  // it is not the device that misses
  const Bytes<> shortfall = memory.total() - usable;
  if (census.nearest_miss && census.nearest_miss->shortfall <= shortfall) return;
  census.nearest_miss = NearestMiss{plan, memory, stage, broken, shortfall};
}

}  // namespace

bool better(const Estimate& a, const Estimate& b) {
  const double time_a = a.step.raw() / sequences(a.plan), time_b = b.step.raw() / sequences(b.plan);
  if (time_a != time_b) return time_a < time_b;
  if (!(a.headroom() == b.headroom())) return a.headroom() > b.headroom();
  return a.plan < b.plan;
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, std::size_t runners_up) {
  SearchResult result;
  std::map<Layout, Estimate> best_of_layout;
  const Bytes<> usable = estimator.usable<double>();
  result.census.considered = estimator.space().for_each(fixed, [&](const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = estimator.fullest_memory<double>(plan, stage);
    if (const auto broken = estimator.broken_memory(plan, memory)) {
      miss(result.census, plan, memory, stage, *broken, usable);
      return;
    }
    ++result.census.feasible;
    const Estimate estimate = estimator.complete(plan, memory, stage);
    const auto [at, fresh] = best_of_layout.try_emplace(layout(plan), estimate);
    if (!fresh && better(estimate, at->second)) at->second = estimate;
  });
  std::vector<Estimate> ranked;
  ranked.reserve(best_of_layout.size());
  for (const auto& [key, estimate] : best_of_layout) ranked.push_back(estimate);
  std::sort(ranked.begin(), ranked.end(), better);
  if (ranked.empty()) return result;
  result.best = ranked.front();
  const std::size_t kept = std::min(ranked.size() - 1, runners_up);
  result.runners_up.assign(ranked.begin() + 1, ranked.begin() + 1 + static_cast<std::ptrdiff_t>(kept));
  return result;
}

std::vector<FrontEntry> memory_front(const Estimator& estimator, const FixedAxes& fixed) {
  std::map<double, FrontEntry> front;  // by total
  estimator.space().for_each(fixed, [&](const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = estimator.fullest_memory<double>(plan, stage);
    const Seconds<> time = estimator.time<double>(plan).total() / ratio(sequences(plan));
    const double total = memory.total().raw();
    auto after = front.upper_bound(total);
    if (after != front.begin()) {
      const FrontEntry& below = std::prev(after)->second;
      const bool same = below.total.raw() == total && below.per_sequence == time;
      if (same ? below.plan < plan : below.per_sequence <= time) return;
    }
    while (after != front.end() && after->second.per_sequence >= time) after = front.erase(after);
    front.insert_or_assign(total, FrontEntry{memory.total(), time, plan});
  });
  std::vector<FrontEntry> entries;
  entries.reserve(front.size());
  for (const auto& [total, entry] : front) entries.push_back(entry);
  return entries;
}

}  // namespace shardplan
