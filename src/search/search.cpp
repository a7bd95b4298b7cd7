#include "search/search.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include "estimate/plan_evaluator.h"

namespace shardplan {
namespace {

double sequences(const Plan& p) { return static_cast<double>(p.dp) * p.micro_batch * p.grad_accumulation; }

/// What orders plans.
struct Ranked {
  Plan plan;
  double per_sequence = 0;  // seconds
  double busy = 0;          // of them, not spent waiting for the batch to be read
  Bytes<> headroom;
};

Ranked ranked(const Plan& plan, const TimeBreakdown<>& time, Bytes<> headroom) {
  const double step = time.total().raw(), waits = time[TimeTerm::kLoading].exposed().raw();
  const double pace = waits > 0 ? time[TimeTerm::kLoading].time.raw() : step;
  return {plan, pace / sequences(plan), (step - waits) / sequences(plan), headroom};
}

bool better(const Ranked& a, const Ranked& b) {
  if (a.per_sequence != b.per_sequence) return a.per_sequence < b.per_sequence;
  // Where reading the batch sets the pace, all that keep up with it take as long.
  if (a.busy != b.busy) return a.busy < b.busy;
  if (!(a.headroom == b.headroom)) return a.headroom > b.headroom;
  return a.plan < b.plan;
}

/// The nearest miss of two: whichever thread saw it first.
void keep_nearer(std::optional<NearestMiss>& nearest, const NearestMiss& other) {
  const bool nearer = !nearest || other.shortfall < nearest->shortfall ||
                      (other.shortfall == nearest->shortfall && other.plan < nearest->plan);
  if (nearer) nearest = other;
}

void miss(Census& census, const Plan& plan, const MemoryBreakdown<>& memory, int stage, Constraint broken,
          Bytes<> usable) {
  ++census.rejected[static_cast<std::size_t>(broken)];
  if (broken == Constraint::kHostMemory) return;  // it is not the device that misses
  const Bytes<> shortfall = memory.total() - usable;
  if (census.nearest_miss && census.nearest_miss->shortfall < shortfall) return;
  keep_nearer(census.nearest_miss, {plan, memory, stage, broken, shortfall});
}

void add(Census& sum, const Census& part) {
  sum.considered += part.considered;
  sum.feasible += part.feasible;
  for (std::size_t i = 0; i < sum.rejected.size(); ++i) sum.rejected[i] += part.rejected[i];
  if (part.nearest_miss) keep_nearer(sum.nearest_miss, *part.nearest_miss);
}

/// Shares `items` out to threads, each with a Worker of its own: worker(item). Returns the workers.
template <class Worker, class Make>
std::vector<Worker> share_out(std::size_t items, Make make) {
  // Each thread has parts of its own to keep: not worth it for a few.
  constexpr std::size_t kItemsWorthAThread = 16;
  const std::size_t threads = std::clamp<std::size_t>(items / kItemsWorthAThread, 1,
                                                      std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Worker> workers;
  workers.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) workers.push_back(make());
  std::atomic<std::size_t> next = 0;
  const auto run = [&](Worker& worker) {
    for (std::size_t item = next++; item < items; item = next++) worker(item);
  };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, std::ref(workers[i]));
  run(workers.front());
  for (std::thread& thread : others) thread.join();
  return workers;
}

/// The space as one thread sees it, layout by layout.
class Walk {
 public:
  Walk(const Estimator& estimator, const FixedAxes& fixed, const std::vector<Plan>& layouts)
      : estimator_(&estimator),
        fixed_(&fixed),
        layouts_(&layouts),
        judge_(std::make_unique<PlanEvaluator>(estimator)),
        usable_(estimator.usable<double>()) {}

 protected:
  template <class Visit>
  std::int64_t each(std::size_t layout, Visit visit) {
    return estimator_->space().for_each_of((*layouts_)[layout], *fixed_, visit);
  }
  const Estimator& estimator() const { return *estimator_; }
  PlanEvaluator& judge() { return *judge_; }
  Bytes<> usable() const { return usable_; }

 private:
  const Estimator* estimator_;
  const FixedAxes* fixed_;
  const std::vector<Plan>* layouts_;
  std::unique_ptr<PlanEvaluator> judge_;
  Bytes<> usable_;
};

/// Counts what fails and keeps the best plan of each layout.
class Judge : public Walk {
 public:
  using Walk::Walk;
  Census census;
  std::vector<Ranked> leaders;

  void operator()(std::size_t layout) {
    const std::size_t before = leaders.size();
    census.considered += each(layout, [&](const Plan& plan) {
      int stage = 0;
      const MemoryBreakdown<> memory = judge().fullest_memory(plan, stage);
      if (const auto broken = estimator().broken_memory(plan, memory, usable())) {
        miss(census, plan, memory, stage, *broken, usable());
        return;
      }
      ++census.feasible;
      const Ranked found = ranked(plan, judge().time(plan), usable() - memory.total());
      if (leaders.size() == before) {
        leaders.push_back(found);
      } else if (better(found, leaders.back())) {
        leaders.back() = found;
      }
    });
  }
};

/// Keeps the plans that no other beats with as little memory.
class Front : public Walk {
 public:
  using Walk::Walk;
  std::map<double, FrontEntry> entries;  // by total

  void operator()(std::size_t layout) {
    each(layout, [&](const Plan& plan) {
      int stage = 0;
      const MemoryBreakdown<> memory = judge().fullest_memory(plan, stage);
      const Bytes<> total = memory.total();
      // No device is large enough for what its host cannot keep.
      if (estimator().broken_memory(plan, memory, total)) return;
      keep({total, judge().time(plan).total() / ratio(sequences(plan)), plan});
    });
  }

  void keep(const FrontEntry& entry) {
    const double total = entry.total.raw();
    auto after = entries.upper_bound(total);
    if (after != entries.begin()) {
      const FrontEntry& below = std::prev(after)->second;
      const bool same = below.total.raw() == total && below.per_sequence == entry.per_sequence;
      if (same ? below.plan < entry.plan : below.per_sequence <= entry.per_sequence) return;
    }
    while (after != entries.end() && after->second.per_sequence >= entry.per_sequence)
      after = entries.erase(after);
    entries.insert_or_assign(total, entry);
  }
};

}  // namespace

bool better(const Estimate& a, const Estimate& b) {
  return better(ranked(a.plan, a.time, a.headroom()), ranked(b.plan, b.time, b.headroom()));
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, std::size_t runners_up) {
  const std::vector<Plan> layouts = estimator.space().layouts(fixed);
  const auto judges = share_out<Judge>(layouts.size(), [&] { return Judge(estimator, fixed, layouts); });
  SearchResult result;
  std::vector<Ranked> ranked;
  for (const Judge& judge : judges) {
    add(result.census, judge.census);
    ranked.insert(ranked.end(), judge.leaders.begin(), judge.leaders.end());
  }
  const std::size_t kept = std::min(ranked.size(), runners_up + 1);
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return better(a, b); });
  result.leaders.reserve(ranked.size());
  for (const Ranked& leader : ranked) result.leaders.push_back(leader.plan);
  for (std::size_t i = 0; i < kept; ++i) {
    int stage = 0;
    const MemoryBreakdown<> memory = estimator.fullest_memory<double>(ranked[i].plan, stage);
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
  const std::vector<Plan> layouts = estimator.space().layouts(fixed);
  auto fronts = share_out<Front>(layouts.size(), [&] { return Front(estimator, fixed, layouts); });
  for (std::size_t i = 1; i < fronts.size(); ++i) {
    for (const auto& [total, entry] : fronts[i].entries) fronts.front().keep(entry);
  }
  std::vector<FrontEntry> entries;
  entries.reserve(fronts.front().entries.size());
  for (const auto& [total, entry] : fronts.front().entries) entries.push_back(entry);
  return entries;
}

}  // namespace shardplan
