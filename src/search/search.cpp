#include "search/search.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "estimate/plan_evaluator.h"

namespace shardplan {
namespace {

using Layout = std::array<std::int32_t, 6>;
Layout layout(const Plan& p) { return {p.dp, p.tp, p.pp, p.cp, p.ep, p.etp}; }

double sequences(const Plan& p) { return static_cast<double>(p.dp) * p.micro_batch * p.grad_accumulation; }

/// What orders plans.
struct Ranked {
  Plan plan;
  double per_sequence = 0;  // seconds
  Bytes<> headroom;
};

bool better(const Ranked& a, const Ranked& b) {
  if (a.per_sequence != b.per_sequence) return a.per_sequence < b.per_sequence;
  if (!(a.headroom == b.headroom)) return a.headroom > b.headroom;
  return a.plan < b.plan;
}

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
  const auto ranked = [](const Estimate& e) {
    return Ranked{e.plan, e.step.raw() / sequences(e.plan), e.headroom()};
  };
  return better(ranked(a), ranked(b));
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, std::size_t runners_up) {
  SearchResult result;
  std::map<Layout, Ranked> best_of_layout;
  const Bytes<> usable = estimator.usable<double>();
  PlanEvaluator judge(estimator);
  Layout current{};
  Ranked* leader = nullptr;
  result.census.considered = estimator.space().for_each(fixed, [&](const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = judge.fullest_memory(plan, stage);
    if (const auto broken = estimator.broken_memory(plan, memory, usable)) {
      miss(result.census, plan, memory, stage, *broken, usable);
      return;
    }
    ++result.census.feasible;
    const Ranked found{plan, judge.time(plan).total().raw() / sequences(plan), usable - memory.total()};
    if (leader == nullptr || layout(plan) != current) {
      current = layout(plan);
      leader = &best_of_layout.try_emplace(current, found).first->second;
    }
    if (better(found, *leader)) *leader = found;
  });
  std::vector<Ranked> ranked;
  ranked.reserve(best_of_layout.size());
  for (const auto& [key, found] : best_of_layout) ranked.push_back(found);
  const std::size_t kept = std::min(ranked.size(), runners_up + 1);
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end(),
                    [](const Ranked& a, const Ranked& b) { return better(a, b); });
  for (std::size_t i = 0; i < kept; ++i) {
    int stage = 0;
    const MemoryBreakdown<> memory = judge.fullest_memory(ranked[i].plan, stage);
    Estimate estimate = estimator.complete(ranked[i].plan, memory, stage);
    if (i == 0) {
      result.best = std::move(estimate);
    } else {
      result.runners_up.push_back(std::move(estimate));
    }
  }
  return result;
}

std::vector<FrontEntry> memory_front(const Estimator& estimator, const FixedAxes& fixed) {
  std::map<double, FrontEntry> front;  // by total
  PlanEvaluator judge(estimator);
  estimator.space().for_each(fixed, [&](const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = judge.fullest_memory(plan, stage);
    const Seconds<> time = judge.time(plan).total() / ratio(sequences(plan));
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
