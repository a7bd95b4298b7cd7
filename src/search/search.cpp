#include "search/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
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

void add(Census& sum, const Census& part) {
  sum.considered += part.considered;
  sum.slower += part.slower;
  sum.larger += part.larger;
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

/// Sums in another order differ in their last digits: a bound has to be that much above to exclude.
constexpr double kRounding = 1e-9;

/// Counts what fails and keeps the best plan of each layout. One for each thread.
class Judge {
 public:
  Judge(const Estimator& estimator, const FixedAxes& fixed, const std::vector<Plan>& layouts)
      : Judge(estimator, fixed, layouts, nullptr, nullptr) {}
  /// For who asks for the fastest only. `bounds`: of the same layouts; `limit`: seconds a sequence that a
  /// plan of some layout takes.
  Judge(const Estimator& estimator, const FixedAxes& fixed, const std::vector<Plan>& layouts,
        const std::vector<BoundedLayout>* bounds, std::atomic<double>* limit)
      : estimator_(&estimator),
        fixed_(&fixed),
        layouts_(&layouts),
        judge_(std::make_unique<PlanEvaluator>(estimator)),
        usable_(estimator.usable<double>()),
        bounds_(bounds),
        limit_(limit) {}
  Census census;
  std::vector<Ranked> leaders;

  void operator()(std::size_t layout) {
    if (bounds_ != nullptr && (*bounds_)[layout].per_sequence > *limit_ * (1 + kRounding)) return;
    const LayoutPlans plans = estimator_->space().plans_of((*layouts_)[layout], *fixed_);
    census.considered += plans.count();
    leader_ = std::nullopt;
    kept_.clear();
    if (limit_ == nullptr) nearest_ = std::nullopt;
    // The micro-batches that could be fastest first: what they reach excludes the others.
    std::vector<std::pair<Seconds<>, const std::vector<Plan>*>> by_bound;
    for (const auto& pipelines : plans.pipelines)
      by_bound.emplace_back(judge_->least_step_of_micro_batch(pipelines.front()), &pipelines);
    std::stable_sort(by_bound.begin(), by_bound.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [least, pipelines] : by_bound) {
      if (too_slow(pipelines->front(), least)) {
        census.slower += plans.count(*pipelines);
      } else {
        each_recomputation(plans, *pipelines);
      }
    }
    if (leader_) leaders.push_back(*leader_);
    if (leader_ && limit_ != nullptr) lower(leader_->per_sequence);
    if (nearest_) keep_nearer(census.nearest_miss, *nearest_);
  }

 private:
  bool too_slow(const Plan& plan, Seconds<> least) const {
    const double own = leader_ ? leader_->per_sequence : std::numeric_limits<double>::infinity();
    const double fastest = limit_ != nullptr ? std::min(own, limit_->load(std::memory_order_relaxed)) : own;
    return least.raw() > fastest * sequences(plan) * (1 + kRounding);
  }
  void lower(double per_sequence) {
    double seen = limit_->load(std::memory_order_relaxed);
    while (per_sequence < seen && !limit_->compare_exchange_weak(seen, per_sequence)) {
    }
  }
  void each_recomputation(const LayoutPlans& plans, const std::vector<Plan>& pipelines) {
    for (const Recompute& recompute : plans.recomputes)
      for (const Plan& pipeline : pipelines) each_state(plans, pipeline, recompute);
    for (const Plan& pipeline : pipelines)
      for (std::int32_t n = 1; n <= plans.most_in_part(pipeline); ++n)
        each_state(plans, pipeline, Recompute::block(n));
  }
  void each_state(const LayoutPlans& plans, Plan plan, const Recompute& recompute) {
    plan.recompute = recompute;
    const auto all = static_cast<std::int64_t>(plans.states.size());
    const bool compared = leader_ || limit_ != nullptr;
    if (compared && too_slow(plan, judge_->least_step(plan))) {
      census.slower += all;
      return;
    }
    if (too_large(judge_->least_memory(plan, plans.states))) {
      census.larger += all;
      return;
    }
    const std::vector<Bytes<>>& kept = kept_by_states(plans, plan);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (too_large(kept[i])) {
        ++census.larger;
      } else {
        consider(with_state(plan, plans.states[i]));
      }
    }
  }
  /// What each of the layout's states keeps under the plan's pipeline, whatever the micro-batch.
  const std::vector<Bytes<>>& kept_by_states(const LayoutPlans& plans, const Plan& plan) {
    const auto of_pipeline = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) {
      return k.schedule == plan.schedule && k.interleave == plan.interleave;
    });
    if (of_pipeline != kept_.end()) return of_pipeline->bytes;
    Kept& own = kept_.emplace_back(Kept{plan.schedule, plan.interleave, {}});
    for (const Plan& state : plans.states)
      own.bytes.push_back(judge_->least_memory_of_state(with_state(plan, state)));
    return own.bytes;
  }
  /// As long as nothing of the layout fits, not where it may be the nearest miss.
  bool too_large(Bytes<> least) const {
    const double beyond = least.raw() - usable_.raw() * (1 + kRounding);
    return beyond > 0 && (leader_ || (nearest_ && beyond > nearest_->shortfall.raw()));
  }
  void consider(const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = judge_->fullest_memory(plan, stage);
    if (const auto broken = estimator_->broken_memory(plan, memory, usable_)) {
      ++census.rejected[static_cast<std::size_t>(*broken)];
      // Of the host's memory it is not the device that misses.
      if (*broken == Constraint::kHostMemory) return;
      const Bytes<> shortfall = memory.total() - usable_;
      if (!nearest_ || !(nearest_->shortfall < shortfall))
        keep_nearer(nearest_, {plan, memory, stage, *broken, shortfall});
      return;
    }
    ++census.feasible;
    const Ranked found = ranked(plan, judge_->time(plan), usable_ - memory.total());
    if (!leader_ || better(found, *leader_)) leader_ = found;
  }

  const Estimator* estimator_;
  const FixedAxes* fixed_;
  const std::vector<Plan>* layouts_;
  std::unique_ptr<PlanEvaluator> judge_;
  Bytes<> usable_;
  // Of the layout, so that what is excluded is the same on any number of threads; who asks for the fastest
  // only does not ask what was excluded.
  std::optional<Ranked> leader_;
  std::optional<NearestMiss> nearest_;
  struct Kept {
    Schedule schedule;
    std::int32_t interleave;
    std::vector<Bytes<>> bytes;  // by state
  };
  std::vector<Kept> kept_;
  const std::vector<BoundedLayout>* bounds_;
  std::atomic<double>* limit_;
};

/// What the workers found, as one; `ranked` as they left it.
SearchResult sum(const Estimator& estimator, const std::vector<Judge>& judges, std::size_t runners_up) {
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

}  // namespace

bool better(const Estimate& a, const Estimate& b) {
  return better(ranked(a.plan, a.time, a.headroom()), ranked(b.plan, b.time, b.headroom()));
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, std::size_t runners_up) {
  const std::vector<Plan> layouts = estimator.space().layouts(fixed);
  return sum(estimator, share_out<Judge>(layouts.size(), [&] { return Judge(estimator, fixed, layouts); }),
             runners_up);
}

std::vector<BoundedLayout> bounded_layouts(const Estimator& estimator, const FixedAxes& fixed) {
  const std::vector<Plan> layouts = estimator.space().layouts(fixed);
  struct Bounds {
    std::unique_ptr<PlanEvaluator> judge;
    std::vector<BoundedLayout> found;
    const Estimator* estimator;
    const FixedAxes* fixed;
    const std::vector<Plan>* layouts;

    void operator()(std::size_t layout) {
      double least = std::numeric_limits<double>::infinity();
      for (const auto& pipelines : estimator->space().plans_of((*layouts)[layout], *fixed).pipelines) {
        const Plan& plan = pipelines.front();
        least = std::min(least, judge->least_step_of_micro_batch(plan).raw() / sequences(plan));
      }
      if (std::isfinite(least)) found.push_back({least, (*layouts)[layout]});
    }
  };
  const auto parts = share_out<Bounds>(layouts.size(), [&] {
    return Bounds{std::make_unique<PlanEvaluator>(estimator), {}, &estimator, &fixed, &layouts};
  });
  std::vector<BoundedLayout> all;
  for (const Bounds& part : parts) all.insert(all.end(), part.found.begin(), part.found.end());
  std::sort(all.begin(), all.end(), [](const BoundedLayout& a, const BoundedLayout& b) {
    return a.per_sequence != b.per_sequence ? a.per_sequence < b.per_sequence : a.layout < b.layout;
  });
  return all;
}

SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed,
                     const std::vector<BoundedLayout>& layouts, const std::optional<Plan>& known) {
  std::atomic<double> limit = std::numeric_limits<double>::infinity();
  if (known) {
    const Outcome outcome = estimator.estimate(*known);
    if (const Estimate* e = std::get_if<Estimate>(&outcome)) limit = ranked(*known, e->time, {}).per_sequence;
  }
  std::vector<Plan> in_order;
  in_order.reserve(layouts.size());
  for (const BoundedLayout& bounded : layouts) {
    // Those after it are no faster.
    if (bounded.per_sequence > limit * (1 + kRounding)) break;
    in_order.push_back(bounded.layout);
  }
  SearchResult result = sum(
      estimator,
      share_out<Judge>(in_order.size(), [&] { return Judge(estimator, fixed, in_order, &layouts, &limit); }),
      0);
  result.leaders.clear();
  return result;
}

SearchResult fastest(const Estimator& estimator, const FixedAxes& fixed, const std::optional<Plan>& known) {
  return fastest(estimator, fixed, bounded_layouts(estimator, fixed), known);
}

}  // namespace shardplan
